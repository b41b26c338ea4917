import { setThreads } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { benchModels } from '../lab/bench/workload.js';
import { initDecoder, type Model } from '../models/index.js';
import { type Completion, plainSampling, type SamplingOptions } from './completion.js';
import type { GroupRequest } from './completion-requests.js';
import { fixture, range } from './rollout.test.helper.js';
import { sample } from './sampler.js';

/** Groups of several sizes, prompts of several lengths. */
const requests: readonly GroupRequest[] = [3, 1, 5, 9].map((count, i) => ({
  ids: range(7 * i + 3).map((token) => (11 * token + i) % 90),
  count,
  keys: [i],
}));

const shapes = {
  tiny: benchModels.tiny,
  'gpt2-124m': benchModels['gpt2-124m'],
  'tiny with windows and soft caps': {
    ...benchModels.tiny,
    attention: [{ rope: 0, window: 5 }, { window: 20 }],
    attentionSoftcap: 3,
  },
};

function modelOf(name: keyof typeof shapes, dtype: 'float32' | 'bfloat16'): Model {
  const config = { ...shapes[name], layers: 2, vocabSize: 515 };
  const decoder = initDecoder(config, { seed: 1, dtype });
  onTestFinished(() => decoder.dispose());
  return { ...fixture('qwen3', []), decoder };
}

/** Token ids and log-probs of every completion, by request. */
async function sampled(model: Model, order: readonly number[], change: Partial<SamplingOptions>) {
  const options = { ...plainSampling, maxNewTokens: 9, ...change };
  const groups = await sample(
    model,
    order.map((i) => requests[i]!),
    options,
    5,
  );
  const found: Completion[][] = [];
  for (const [at, i] of order.entries()) found[i] = groups[at]!;
  return found.map((group) => group?.map(({ ids, logprobs }) => [ids, [...logprobs]]));
}

describe('rollout.invariant', () => {
  it.each([
    ['tiny', 'float32'],
    ['tiny', 'bfloat16'],
    ['gpt2-124m', 'float32'],
    ['gpt2-124m', 'bfloat16'],
    ['tiny with windows and soft caps', 'float32'],
    ['tiny with windows and soft caps', 'bfloat16'],
  ] as const)('is what a completion has, asked for or not, of %s in %s', async (name, dtype) => {
    const model = modelOf(name, dtype);
    const all = await sampled(model, [0, 1, 2, 3], { invariant: true });
    for (const lotBytes of [0, 1e7, 1e8])
      expect(await sampled(model, [0, 1, 2, 3], { lotBytes }), `${lotBytes}`).toEqual(all);
    expect(await sampled(model, [3, 1, 0, 2], {})).toEqual(all);
    setThreads(1);
    onTestFinished(() => setThreads(2));
    expect((await sampled(model, [2], {}))[2]).toEqual(all[2]);
  });

  it('is refused where there are no such products', async () => {
    const model = fixture('qwen3', []);
    const decoder = initDecoder(
      { ...benchModels.tiny, layers: 1, vocabSize: 100 },
      { seed: 1, dtype: 'float64' },
    );
    onTestFinished(() => decoder.dispose());
    await expect(sampled({ ...model, decoder }, [0], { invariant: true })).rejects.toThrow(
      'rollout.invariant needs float32 or bfloat16 on the CPU; the model is float64 on cpu',
    );
  });
});
