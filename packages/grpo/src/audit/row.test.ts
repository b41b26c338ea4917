import { describe, expect, it } from 'vitest';
import { type LabRun, labRun } from '../lab/lab-run.js';
import { rolloutMetrics } from '../observe/metrics.js';
import { batchOf } from './batch.test.helper.js';
import { compareRow } from './row.js';

/** The record and the row of each step of a run. */
async function stepsOf(run: LabRun) {
  const { records, series } = await labRun(run);
  return records.map((record, i) => ({ record, row: series.entries[i]!.values }));
}

const TWICE = ['objective.iterations=2', 'objective.minibatches=2', 'objective.oldLogprobs=recompute'];
const FAST = 'optimizer.learningRate=0.02';

describe("a step's row", () => {
  it.each([
    [[]],
    [['kl.beta=0.1', ...TWICE, FAST]],
    [['objective.loss=gspo', 'kl.beta=0.1', ...TWICE]],
    [['entropy.topShare=0.5', 'objective.maskTruncated=true', 'train.microBatchTokens=60']],
    [['objective.policy=cispo', 'rollout.topK=5']],
    [['kl.beta=0.3', 'kl.place=reward', 'kl.estimator=k1', FAST]],
  ])('is that of its record: %s', async (settings) => {
    for (const { record, row } of await stepsOf({ settings, steps: 3 })) {
      const [found] = compareRow(row, record);
      expect(found).toMatchObject({ handOver: 'metrics', quantity: "number in the step's row" });
      expect(found!.deviation).toBeLessThanOrEqual(found!.bound);
      expect(found!.compared).toBeGreaterThan(12);
    }
  });

  it('is told by each number that is another, or is missing', async () => {
    const { record, row } = (await stepsOf({ settings: ['kl.beta=0.1', ...TWICE, FAST], steps: 2 }))[1]!;
    const names = [
      ...[
        'reward',
        'reward_std',
        'frac_reward_zero_std',
        'rewards/right/mean',
        'loss',
        'grad_norm',
        'learning_rate',
        'entropy',
        'kl',
      ],
      ...['completions/mean_length', 'completions/max_length', 'completions/clipped_ratio'],
      ...['clip_ratio/low_mean', 'clip_ratio/high_mean', 'clip_ratio/low_min', 'clip_ratio/high_max'],
    ];
    expect(row['clip_ratio/region_mean']).toBeGreaterThan(0);
    for (const name of names) {
      expect(compareRow({ ...row, [name]: row[name]! + 0.01 }, record)).toMatchObject([{ tensor: name }]);
      const { [name]: _, ...others } = row;
      expect(compareRow(others, record)).toMatchObject([{ tensor: name, deviation: Number.NaN }]);
    }
  });

  it('is of the own problems where groups gave way to others', async () => {
    const { record, row } = (await stepsOf({ steps: 1 }))[0]!;
    const own = batchOf([0, 1, 2, 2, 3, 3]);
    const batch = batchOf([9, 9, 9, 9, 9, 9]);
    batch.exchange = { own, sampled: 3, tokens: 6, refilled: 0, replayed: new Map(), flat: [] };
    const told = { ...row, ...rolloutMetrics(batch) };
    const [found] = compareRow(told, record, own);
    expect(found!.deviation).toBeLessThanOrEqual(found!.bound);
    for (const name of ['reward', 'frac_reward_zero_std', 'completions/mean_length'])
      expect(compareRow({ ...told, [name]: told[name]! + 0.01 }, record, own)).toMatchObject([
        { tensor: name },
      ]);
  });
});
