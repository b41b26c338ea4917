import { compilesEachShape, grad, tidy } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { uniform } from '../maths/random.js';
import { type DecoderConfig, equalLayers, initDecoder, llamaTraits, packSegments } from '../models/index.js';
import { scoreTokens } from './logprob.js';

const config: DecoderConfig = {
  ...llamaTraits,
  family: 'qwen2',
  vocabSize: 300,
  hiddenSize: 64,
  intermediateSize: 128,
  layers: 1,
  heads: 2,
  kvHeads: 1,
  headDim: 32,
  ...equalLayers({ layers: 1, headDim: 32 }),
  maxPositions: 400,
  normEps: 1e-6,
  qkvBias: true,
  tied: true,
};
const ids = (length: number, key: number) =>
  Array.from({ length }, (_, i) => Math.floor(300 * uniform(3, key, i)));

const decoderIn = (dtype: 'float32' | 'bfloat16') => {
  const decoder = initDecoder(config, { seed: 1, dtype, std: 0.2 });
  for (const parameter of decoder.parameters.values()) parameter.requiresGrad = true;
  onTestFinished(() => decoder.dispose());
  return decoder;
};

describe.each(['float32', 'bfloat16'] as const)('lengths that vary, in %s', (dtype) => {
  it('take rows in multiples of 32 where each number of rows is compiled', () => {
    tidy(() => {
      const segments = [{ ids: ids(37, 1) }, { ids: ids(5, 2), parent: 0 }];
      const { ids_N, positions_N, starts } = packSegments(segments, config, 'cpu', dtype);
      expect(ids_N.shape).toEqual([compilesEachShape(dtype) ? 64 : 42]);
      expect(positions_N.shape).toEqual(ids_N.shape);
      expect(starts).toEqual([0, 37]);
      expect(packSegments(segments, config, 'cpu').ids_N.shape).toEqual([42]);
    });
  });

  it('keep no more memory than a few lengths do', { timeout: 60_000 }, () => {
    const decoder = decoderIn(dtype);
    const score = (prompt: number, completion: number) =>
      tidy(() => {
        const groups = [
          { prompt: ids(prompt, prompt), completions: [ids(completion, 1), ids(completion, 2)] },
        ];
        const { logprobs_T } = scoreTokens(decoder, groups, 1);
        grad([logprobs_T.sum()], [...decoder.parameters.values()]);
      });
    for (const length of [40, 70, 100]) score(length, length);
    const before = process.memoryUsage().rss;
    for (let length = 40; length < 100; length++) score(length, length);
    expect((process.memoryUsage().rss - before) / 2 ** 20).toBeLessThan(150);
  });
});

it('in bfloat16 the tokens behind have no part in log-probs and gradients: those of float32', () => {
  const groups = [{ prompt: ids(37, 1), completions: [ids(5, 2), ids(9, 3)] }];
  const flat = (dtype: 'float32' | 'bfloat16') =>
    tidy(() => {
      const decoder = decoderIn(dtype);
      const { logprobs_T } = scoreTokens(decoder, groups, 1);
      expect(logprobs_T.shape).toEqual([14]);
      const gradients = grad([logprobs_T.sum()], [...decoder.parameters.values()]);
      return [[logprobs_T], gradients].map((tensors) =>
        tensors.flatMap((t) => t!.detach().to('float64').flatten().toNumbers()),
      );
    });
  const [rounded, exact] = [flat('bfloat16'), flat('float32')];
  const norm = (values: readonly number[]) => Math.hypot(...values);
  for (const [i, values] of exact.entries())
    expect(norm(values.map((value, j) => value - rounded[i]![j]!))).toBeLessThan(0.03 * norm(values));
});
