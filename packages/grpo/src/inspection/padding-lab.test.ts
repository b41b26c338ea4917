import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { scoreSequences } from '../audit/plain/plain-logprobs.js';
import { loadModel } from '../models/index.js';
import { scoreTokens } from '../objective/index.js';
import { plainSampling, sample } from '../rollout/index.js';
import { paddingOf } from './padding.js';
import { measurePadding, paddingCheck } from './padding-lab.js';

const load = (name: string) =>
  loadModel(fileURLToPath(new URL(`../../../../parity/fixtures/models/${name}`, import.meta.url)));

const PROMPTS = [
  [11, 12, 13, 14],
  [21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32],
  [41, 42],
];

describe('padding', () => {
  const { tokenizer } = load('qwen2');

  it('leaves the prompt’s end in a text that is cut by count', () => {
    // Widths 2 and 12: ten places of padding, cut behind two of them, so that both ids of the prompt are left.
    expect(paddingOf(tokenizer, PROMPTS)).toMatchObject({
      width: 12,
      shortest: 2,
      cut: { prompts: 2, tokens: 4 },
    });
    const ids = tokenizer.encode('abcdefgh');
    const wide = [...ids, ...ids.slice(0, 3)];
    const left = tokenizer.decode(ids.slice(-3)).length;
    expect(paddingOf(tokenizer, [ids, wide])!.cut).toEqual({ prompts: 1, tokens: 3, characters: left });
  });

  it('is not there where all prompts have one length', () => {
    expect(paddingOf(tokenizer, [PROMPTS[0]!, PROMPTS[0]!.toReversed()])).toBeUndefined();
    expect(paddingOf(tokenizer, [])).toBeUndefined();
  });
});

describe.each(['llama3', 'gpt2', 'qwen3'])('mistakes with padding of %s', (name) => {
  it('show in nats, and our own batch has none', async () => {
    const model = load(name);
    const measured = await measurePadding(model, PROMPTS);
    expect(paddingCheck(measured)).toMatchObject({ verdict: 'pass' });
    expect(measured.alone.most).toBeLessThan(1e-4);
    expect(measured.attended!.mean).toBeGreaterThan(1e-3);
    // Rotary positions are relative: only learnt ones have places that padding moves.
    if (name === 'gpt2') expect(measured.positions!.mean).toBeGreaterThan(1e-3);
    else expect(measured.positions!.most).toBeLessThan(1e-4);
  });
});

describe('the measurement', () => {
  it('has the nats that an independent decoder finds with padding in front', async () => {
    const model = load('gpt2');
    const requests = PROMPTS.map((ids, p) => ({ ids, count: 2, keys: [0, p] }));
    const groups = await sample(model, requests, { ...plainSampling, maxNewTokens: 16 }, 0);
    const pad = model.tokenizer.padId ?? [...model.endIds][0]!;
    const scored = (places: number) => {
      const sequences = groups.flatMap((group, p) =>
        p === 1
          ? []
          : group.map(({ ids }) => ({
              prompt: [...Array<number>(places * (12 - PROMPTS[p]!.length)).fill(pad), ...PROMPTS[p]!],
              completion: ids,
            })),
      );
      const raw = { config: model.configJson, weights: model.decoder.parameters };
      return scoreSequences(raw, sequences, 1).flatMap(({ logprobs }) => [...logprobs]);
    };
    const [clean, padded] = [scored(0), scored(1)];
    const mean = clean.reduce((sum, value, t) => sum + Math.abs(value - padded[t]!), 0) / clean.length;
    expect((await measurePadding(model, PROMPTS)).attended!.mean).toBeCloseTo(mean, 4);
  });

  it('fails a scoring that attends to padding, or is off by one', async () => {
    const model = load('llama3');
    const measured = await measurePadding(model, PROMPTS, {
      score: (decoder, groups, temperature) =>
        scoreTokens(
          decoder,
          groups.map(({ prompt, completions }) => ({
            prompt: [...Array<number>(12 - prompt.length).fill(0), ...prompt],
            completions,
          })),
          temperature,
        ),
    });
    expect(paddingCheck(measured)).toMatchObject({ verdict: 'fail' });
    const { bound } = measured;
    const fine = { most: 0, mean: 0 };
    const [alone, sampler] = [
      { ...measured, sampler: fine },
      { ...measured, alone: fine },
    ];
    expect([alone, sampler].map((one) => paddingCheck(one).verdict)).toEqual(['fail', 'fail']);
    expect(paddingCheck({ ...measured, alone: bound, sampler: bound })).toMatchObject({ verdict: 'pass' });
    expect(paddingCheck({ ...measured, alone: { most: Number.NaN, mean: Number.NaN } })).toMatchObject({
      verdict: 'fail',
    });
  });

  it('proves nothing where padding changes no log-prob', async () => {
    const measured = await measurePadding(load('llama3'), PROMPTS);
    const deaf = { ...measured, attended: null, positions: { most: 0, mean: 0 } };
    expect(paddingCheck(deaf)).toMatchObject({ verdict: 'not applicable' });
  });

  it('counts the tokens that a mask from the right loses', async () => {
    const model = load('llama3');
    const { mask, tokens, completions } = await measurePadding(model, PROMPTS);
    expect(completions).toBe(6);
    expect(mask.tokens).toBeGreaterThan(0);
    expect(mask.tokens).toBeLessThan(tokens);
  });
});
