import { noGrad } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { UserError } from '../errors/user-error.js';
import type { Model } from '../models/index.js';
import { type Completion, plainSampling, type SamplingOptions } from './completion.js';
import { expectedOf, fixture, scripted } from './rollout.test.helper.js';
import { sample } from './sampler.js';

const END = 259;
const OTHER_END = 261;

/** One completion of a one-token prompt by a model that says `script`. */
async function complete(
  script: readonly number[],
  change: Partial<SamplingOptions> = {},
  ends: number[] = [END, OTHER_END],
): Promise<Completion> {
  const groups = await sample(
    scripted(script, ends),
    [{ ids: [0], count: 1, keys: [0] }],
    { ...plainSampling, temperature: 0, ...change },
    0,
  );
  return groups[0]![0]!;
}

const { tokenizer } = fixture('gpt2');
const say = (text: string) => tokenizer.encode(text);

describe('a completion ends', () => {
  it.each([END, OTHER_END])('at end token %d of several, which is not in the text', async (end) => {
    const c = await complete([...say('four'), end, ...say(' more')]);
    expect(c.ids).toEqual([...say('four'), end]);
    expect([c.text, c.finishReason]).toEqual(['four', 'stop']);
    expect([c.logprobs.length, c.sampledLogprobs.length]).toEqual([c.ids.length, c.ids.length]);
  });

  it('with `stop` at an end token that is the last one allowed', async () => {
    const c = await complete([...say('four'), END, ...say(' more')], {
      maxNewTokens: say('four').length + 1,
    });
    expect([c.text, c.finishReason]).toEqual(['four', 'stop']);
  });

  it('with `length` at maxNewTokens', async () => {
    const c = await complete(say('one two three'), { maxNewTokens: 5 });
    expect(c.ids).toEqual(say('one two three').slice(0, 5));
    expect([c.text, c.finishReason]).toEqual(['one t', 'length']);
  });

  it('with `length` where the context is full', async () => {
    const script = say('one two three');
    const c = await complete(script);
    // One place is the prompt's.
    expect(c.ids).toEqual(script.slice(0, -1));
    expect(c.finishReason).toBe('length');
  });

  it('at the end of its own context, not of that of a shorter prompt beside it', async () => {
    const script = say('abcdefghijkl');
    const requests = [1, 7, 11].map((length, i) => ({ ids: script.slice(0, length), count: 1, keys: [i] }));
    const groups = await sample(scripted(script), requests, { ...plainSampling, temperature: 0 }, 0);
    expect(groups.map(([c]) => c!.text)).toEqual(['abcdefghijk', 'ghijk', 'k']);
    expect(groups.map(([c]) => c!.finishReason)).toEqual(['length', 'length', 'length']);
  });
});

describe('a stop string', () => {
  it.each([
    ['over several tokens', '<a>4</a>', ' more', '</a>'],
    ['of characters with several bytes', 'so 答案🙂', '!', '案🙂'],
    ['that is the first token', '#', 'x', '#'],
    ['that is all there is', 'stop here', '.', 'stop here'],
  ])('%s ends the completion and stays in the text', async (_, text, rest, stop) => {
    const c = await complete([...say(text), ...say(rest)], { stop: ['never', stop] });
    expect(c.ids).toEqual(say(text));
    expect([c.text, c.finishReason]).toEqual([text, 'stop']);
  });

  it('is not met by a character whose last byte is missing', async () => {
    const c = await complete([...say('é').slice(0, 1), ...say('x')], { stop: ['é', 'éx'] });
    expect(c.finishReason).toBe('length');
  });

  it('may be the text of a special token', async () => {
    const c = await complete([...say('ok<|start|>'), ...say('no')], { stop: ['<|start|>'] });
    expect([c.text, c.finishReason]).toEqual(['ok<|start|>', 'stop']);
  });

  it('in the prompt does not count', async () => {
    const script = say('##ab##cd');
    const groups = await sample(
      scripted(script),
      [{ ids: say('##'), count: 1, keys: [0] }],
      { ...plainSampling, temperature: 0, stop: ['##'] },
      0,
    );
    expect(groups[0]![0]!.text).toBe('#ab##');
  });
});

describe('before minNewTokens', () => {
  const options = { maxNewTokens: 12, minNewTokens: 6 };

  it('no end token is drawn', async () => {
    const script = [...say('ab'), END, OTHER_END, ...say('ef'), END, ...say('gh')];
    const c = await complete(script, options);
    expect(c.ids.length).toBe(7);
    expect(c.ids.slice(0, 6).filter((id) => id === END || id === OTHER_END)).toEqual([]);
    expect([c.ids.at(-1), c.finishReason]).toEqual([END, 'stop']);
  });

  it('an end token may be the one right after', async () => {
    const c = await complete([...say('abcdef'), END, ...say('gh')], options);
    expect([c.text, c.ids.length, c.finishReason]).toEqual(['abcdef', 7, 'stop']);
  });

  it('a stop string has no effect; one completed later has', async () => {
    const c = await complete(say('a##bcde##f'), { ...options, stop: ['##'] });
    expect([c.text, c.finishReason]).toEqual(['a##bcde##', 'stop']);
  });

  it('a stop string that was complete does not end the completion at the next token', async () => {
    const c = await complete(say('abc##defghij'), { ...options, stop: ['##'], maxNewTokens: 10 });
    expect([c.text, c.finishReason]).toEqual(['abc##defgh', 'length']);
  });

  it('a stop string that begins early and ends in time counts', async () => {
    const c = await complete(say('abcd##efgh'), { ...options, stop: ['##'] });
    expect([c.text, c.finishReason]).toEqual(['abcd##', 'stop']);
  });
});

describe('sample refuses', () => {
  const ask = (model: Model, prompts: number[][]) =>
    sample(
      model,
      prompts.map((ids, i) => ({ ids, count: 1, keys: [i] })),
      plainSampling,
      0,
    );

  it('a prompt that fills the context, naming it', async () => {
    const model = scripted(say('0123456789'));
    await expect(ask(model, [[1], Array<number>(10).fill(1)])).rejects.toThrow(UserError);
    await expect(ask(model, [[1], Array<number>(10).fill(1)])).rejects.toThrow(
      "prompt 2 has 10 tokens, the model's context holds 10: no room for a completion",
    );
    const [[c]] = (await ask(model, [Array<number>(9).fill(1)])) as [[Completion]];
    expect([c.text, c.finishReason]).toEqual(['8', 'length']);
  });

  it('a prompt without tokens, naming it', async () => {
    await expect(ask(fixture('gpt2'), [[1], []])).rejects.toThrow('prompt 2 has no tokens');
  });

  it('weights that give NaN, naming the place', async () => {
    const model = fixture('gpt2');
    noGrad(() => model.decoder.parameters.get('transformer.ln_f.bias')!.fill_(Number.NaN));
    await expect(ask(model, expectedOf('gpt2').prompts)).rejects.toThrow(
      /prompt 1, completion 1, token 1: the logits hold NaN/,
    );
  });

  it('a vocabulary of nothing but end tokens where none may come yet', async () => {
    const model = scripted(
      say('abc'),
      Array.from({ length: 264 }, (_, i) => i),
    );
    const requests = [{ ids: [1], count: 1, keys: [0] }];
    await expect(sample(model, requests, { ...plainSampling, minNewTokens: 1 }, 0)).rejects.toThrow(
      /every token is forbidden/,
    );
  });
});
