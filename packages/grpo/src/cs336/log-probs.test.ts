import { noGrad, type Tensor, tensor } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { readJsonObject } from '../formats/json.js';
import { SafetensorsFile } from '../formats/safetensors.js';
import { loadModel } from '../models/index.js';
import { fixture, isClose, modelFixture } from './fixture.test.helper.js';
import { computeEntropy, computePerInstanceDpoLoss, getResponseLogProbs } from './index.js';

const ids = (values: readonly number[], shape: readonly number[]) =>
  tensor(values, shape, { dtype: 'int64' });

/** log softmax of transformers' logits, in float64: `[L][V]`. */
function theirs(name: string, prompt: number, vocab: number): number[][] {
  using file = SafetensorsFile.open(`${modelFixture(name)}/expected.safetensors`);
  const bytes = file.read(`logits.${prompt}`);
  const logits = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
  return Array.from({ length: logits.length / vocab }, (_, j) => {
    const row = Array.from(logits.subarray(j * vocab, (j + 1) * vocab));
    const most = Math.max(...row);
    const norm = most + Math.log(row.reduce((sum, x) => sum + Math.exp(x - most), 0));
    return row.map((x) => x - norm);
  });
}

const within = { relative: 0, absolute: 1e-5 };

describe.each(['gpt2', 'llama3', 'qwen2', 'qwen3'])('getResponseLogProbs of %s', (name) => {
  const model = loadModel(modelFixture(name));
  const { prompts } = readJsonObject(`${modelFixture(name)}/expected.json`, 'the fixture') as {
    prompts: number[][];
  };
  const width = Math.max(...prompts.map(({ length }) => length));
  const padded = prompts.map((prompt) => [...prompt, ...new Array(width - prompt.length).fill(0)]);
  const shape = [prompts.length, width];
  const inputIds = ids(padded.flat(), shape);

  /** Rows of a result, without what stands under padding. */
  const rowsOf = (values: Tensor) => {
    expect(values.shape).toEqual(shape);
    const numbers = values.toNumbers();
    return prompts.map(({ length }, b) => numbers.slice(b * width, b * width + length));
  };

  it.each([
    ['shifted by one, as tokenizePromptAndOutput makes them', 1],
    ['of any other kind', 0],
  ])('gives the log-probs of transformers, for labels %s', (_, shift) => {
    const labels = padded.map((row) => [...row.slice(shift), ...row.slice(0, shift)]);
    const scores = noGrad(() =>
      getResponseLogProbs({
        model,
        inputIds,
        labels: ids(labels.flat(), shape),
        returnTokenEntropy: true,
      }),
    );
    const own = { logProbs: rowsOf(scores.logProbs), entropy: rowsOf(scores.tokenEntropy!) };
    for (const [b, prompt] of prompts.entries()) {
      const table = theirs(name, b, model.decoder.config.vocabSize);
      const logProbs = prompt.map((_, j) => table[j]![labels[b]![j]!]!);
      const entropies = table.map((row) => -row.reduce((sum, x) => sum + x * Math.exp(x), 0));
      expect(isClose(own.logProbs[b]!, logProbs, within), `log-probs of row ${b}`).toBe(true);
      expect(isClose(own.entropy[b]!, entropies, within), `entropies of row ${b}`).toBe(true);
      expect(
        isClose(
          logProbs.map(() => 0),
          logProbs,
          within,
        ),
      ).toBe(false);
      expect(
        isClose(
          logProbs.map(() => 0),
          entropies,
          within,
        ),
      ).toBe(false);
    }
  });

  it('has no entropies unless asked, and a gradient where the weights have one', () => {
    const weights = [...model.decoder.parameters.values()];
    const score = () => getResponseLogProbs({ model, inputIds, labels: inputIds });
    expect(score().tokenEntropy).toBeUndefined();
    expect(score().logProbs.requiresGrad).toBe(false);
    for (const weight of weights) weight.requiresGrad = true;
    score().logProbs.sum().backward();
    expect(weights.every((weight) => weight.grad?.toNumbers().some((x) => x !== 0))).toBe(true);
  });
});

describe('computeEntropy', () => {
  it('keeps to logits of any size', () => {
    const logits = tensor([0, 0, 0, 0, 1e4, 0, 0, 0, -1e4, -1e4, 1e4, 1e4], [3, 4], { dtype: 'float64' });
    expect(isClose(computeEntropy({ logits }).toNumbers(), [Math.log(4), 0, Math.log(2)], within)).toBe(true);
  });
});

describe('computePerInstanceDpoLoss', () => {
  const { lm, lmRef, loss, ...pair } = fixture.dpo;
  const policy = loadModel(modelFixture(lm));
  const reference = loadModel(modelFixture(lmRef));
  const { template } = fixture.text.sft;
  const options = { ...pair, template, tokenizer: policy.tokenizer };

  it('gives what transformers and plain PyTorch give', () => {
    const own = computePerInstanceDpoLoss({ ...options, lm: policy, lmRef: reference });
    expect(isClose([own.item()], [loss], within)).toBe(true);
  });

  it('is log 2 where policy and reference are one, and falls along its gradient', () => {
    const taught = loadModel(modelFixture(lmRef));
    const weight = [...taught.decoder.parameters.values()][0]!;
    weight.requiresGrad = true;
    const given = { ...options, lm: taught, lmRef: reference };
    const before = computePerInstanceDpoLoss(given);
    expect(before.item()).toBeCloseTo(Math.log(2), 6);
    before.backward();
    noGrad(() => weight.sub_(weight.grad!, { alpha: 1e-3 }));
    expect(computePerInstanceDpoLoss(given).item()).toBeLessThan(before.item());
  });

  it('does not overflow for what the policy finds all but impossible', () => {
    const far = { ...options, lm: policy, lmRef: reference, beta: 1e6 };
    const turned = { ...far, responseChosen: pair.responseRejected, responseRejected: pair.responseChosen };
    const [least, most] = [far, turned]
      .map((given) => computePerInstanceDpoLoss(given).item())
      .sort((a, b) => a - b);
    expect(least).toBeCloseTo(0, 12);
    expect(most).toBeGreaterThan(1e6);
  });
});
