import { describe, expect, it } from 'vitest';
import { fixtureModel, PROBLEMS, rewarding, trainerOf } from '../step/step.test.helper.js';
import { metricsOf } from './metrics.js';
import { recordStep } from './record-step.js';

/** Groups 0 and 2 are of one kind, 1 and 3 of the other; group 3 is flat. */
const problems = PROBLEMS.map((problem, i) => ({ ...problem, row: { task: i % 2 === 0 ? 'fair' : 'true' } }));
const rewards = [
  [1, 0, 1, 0],
  [0.6, 0.2, 0.2, 0.2],
  [1, 1, 1, 0],
  [0.2, 0.2, 0.2, 0.2],
];

async function rowOf(settings: readonly string[]) {
  const score = rewarding((b) => rewards[Math.floor(b / 4)]![b % 4]!);
  const trainer = trainerOf(fixtureModel('llama3'), ['rollout.prompts=4', ...settings], { score });
  const result = await recordStep(trainer, problems, 0, 0.01);
  return metricsOf(result, 1, { tokens: 1, stepTokens: 1, kindKey: trainer.config.kl.kindKey });
}

describe('metrics of kinds', () => {
  it('are those of the groups of each', async () => {
    const row = await rowOf(['kl.kindKey=task', 'advantage.scale=none']);
    expect(row['reward/fair']).toBeCloseTo(5 / 8, 12);
    expect(row['reward/true']).toBeCloseTo(0.25, 12);
    expect(row['reward_std/fair']).toBeCloseTo(Math.sqrt((5 * 0.375 ** 2 + 3 * 0.625 ** 2) / 7), 12);
    expect(row).toMatchObject({ 'frac_reward_zero_std/fair': 0, 'frac_reward_zero_std/true': 0.5 });
    // Advantages of ±0.5, and of 0.25 and −0.75; of 0.3 and −0.1 in one of two groups.
    expect(row['signal/fair']).toBeCloseTo((4 * 0.5 + 3 * 0.25 + 0.75) / 8, 6);
    expect(row['signal/true']).toBeCloseTo((0.3 + 3 * 0.1) / 8, 6);
    expect(row.signal_balance).toBeCloseTo(0.6 / 3.5, 6);
    const lengths = [row['completions/mean_length/fair']!, row['completions/mean_length/true']!];
    expect((lengths[0]! + lengths[1]!) / 2).toBeCloseTo(row['completions/mean_length']!, 12);
    const cut = [row['completions/clipped_ratio/fair']!, row['completions/clipped_ratio/true']!];
    expect((cut[0]! + cut[1]!) / 2).toBeCloseTo(row['completions/clipped_ratio']!, 12);
    // p is 5/8 in one kind and 1/8 in the other, in groups of four.
    const expected = [5 / 8, 1 / 8].map((p) => p ** 4 + (1 - p) ** 4);
    expect(row.frac_reward_zero_std_expected).toBeCloseTo((expected[0]! + expected[1]!) / 2, 12);
  });

  it('are left out where kinds are not told apart', async () => {
    const row = await rowOf([]);
    expect(Object.keys(row).filter((name) => /signal|\/(fair|true)$/.test(name))).toEqual([]);
    expect(row.frac_reward_zero_std_expected).toBeCloseTo((6 / 16) ** 4 + (10 / 16) ** 4, 12);
  });
});
