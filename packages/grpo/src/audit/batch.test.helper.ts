import { Batch } from '../step/batch.js';

/** Three groups of two completions with these rewards. */
export function batchOf(rewards: readonly number[]): Batch {
  const completion = { ids: [1], text: 'a', finishReason: 'stop' as const };
  return new Batch({
    problems: [0, 1, 2].map((row) => ({ prompt: 'q', row })),
    prompts: [0, 1, 2].map(() => ({ text: 'q', ids: [1], spans: [] })),
    completions_B: rewards.map(() => ({
      ...completion,
      logprobs: new Float32Array(1),
      sampledLogprobs: new Float32Array(1),
    })),
    rewardTable: {
      names: ['right'],
      weights: [1],
      columns: [Float64Array.from(rewards)],
      unscored: new Uint8Array(rewards.length),
      failures: [],
    },
  });
}
