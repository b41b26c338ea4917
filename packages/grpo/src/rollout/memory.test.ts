import { memory } from '@grpo/torch';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Abandoned, Watch } from '../progress/watch.js';
import { plainSampling } from './completion.js';
import { diffusing, expectedOf, fixture, range } from './rollout.test.helper.js';
import { sample } from './sampler.js';

const { prompts } = expectedOf('qwen3');
const options = {
  ...plainSampling,
  maxNewTokens: 40,
  temperature: 0.9,
  topK: 100,
  topP: 0.9,
  minP: 0.01,
  repetitionPenalty: 1.1,
  minNewTokens: 3,
  stop: ['never said'],
  lotBytes: 1e5,
};
const requests = prompts.map((ids, i) => ({ ids, count: 3, keys: [i] }));

afterEach(() => {
  vi.restoreAllMocks();
});

describe.each([
  ['a causal', fixture('qwen3', range(26)), options],
  ['a masked-diffusion', diffusing(fixture('qwen3', range(26))), { ...options, repetitionPenalty: 1 }],
])('tensors of %s model', async (_, model, options) => {
  // The first rollout makes the rotary tables, which stay with the model.
  await sample(model, requests, options, 0);

  it('are all gone after a rollout', async () => {
    const before = memory();
    await sample(model, requests, options, 1);
    expect(memory()).toEqual(before);
  });

  it('are all gone when it is abandoned midway', async () => {
    const before = memory();
    const abort = new AbortController();
    let reports = 0;
    const progress = () => {
      if (++reports === 4) abort.abort();
    };
    const watch = new Watch({ progress }, abort.signal);
    await expect(sample(model, requests, options, 1, watch)).rejects.toThrow(Abandoned);
    expect(memory()).toEqual(before);
  });

  it.each(['decodeCompletion', 'decode'] as const)('are all gone when %s throws midway', async (name) => {
    const before = memory();
    let calls = 0;
    vi.spyOn(model.tokenizer, name).mockImplementation(() => {
      if (++calls === 8) throw new Error('broken tokenizer');
      return '';
    });
    await expect(sample(model, requests, options, 1)).rejects.toThrow('broken tokenizer');
    expect(memory()).toEqual(before);
  });
});
