import { describe, expect, it } from 'vitest';
import { numbers } from '../../doctor/record.test.helper.js';
import { folderOf } from '../../formats/temp-folder.test.helper.js';
import { diagnose, diagnoseText } from './diagnose.test.helper.js';
import { argenLogs, nanoGptLog, rookworldLog } from './seed-logs.test.helper.js';
import { cs336Completions, cs336Log, dualConsole, dualTable } from './seed-tables.test.helper.js';

describe('a healthy run', () => {
  it.each([1, 2, 3])('in the form of each trainer has nothing wrong, random seed %i', async (seed) => {
    const random = numbers(seed);
    const learning = (step: number) => Math.min(1, 0.2 + 0.01 * step + 0.1 * random());
    const found = {
      'files per step': await diagnose(folderOf(argenLogs({ steps: 30, reward: learning }))),
      'manual loop': await diagnoseText('run.log', rookworldLog({ seed })),
      'manual loop, timed': await diagnoseText('run.log', rookworldLog({ seed, steps: 25, timed: true })),
      'two tasks, table': await diagnoseText(
        'm.csv',
        dualTable({ seed, steps: 60, kl: (step) => 0.002 * (step - 1) }),
      ),
      'two tasks, console': await diagnoseText(
        'console.log',
        dualConsole({ steps: 40, entropy: (step) => 0.8 - 0.01 * step, kl: (step) => 0.002 * (step - 1) }),
      ),
      'micro-steps': await diagnoseText('out.log', nanoGptLog({ seed, iterations: 20 })),
      'micro-steps, early form': await diagnoseText(
        'out.log',
        nanoGptLog({ seed, late: false, configured: false }),
      ),
      tracker: await diagnoseText(
        'wandb.jsonl',
        cs336Log({ seed, format: (step) => Math.min(1, step / 20), answer: learning }),
      ),
      'tracker, completions': await diagnoseText(
        'completions.jsonl',
        cs336Completions({ seed, keepsStop: true }),
      ),
    };
    expect(Object.fromEntries(Object.entries(found).map(([name, { sick }]) => [name, sick]))).toEqual(
      Object.fromEntries(Object.keys(found).map((name) => [name, []])),
    );
    // And none is silent for want of checks.
    for (const [name, { judgements }] of Object.entries(found))
      expect(judgements.filter(({ judged }) => judged > 0).length, name).toBeGreaterThanOrEqual(2);
  });
});

/** Rows of metrics, a step each, as Python writes them. */
const trl = (steps: number, row: (step: number) => object) =>
  Array.from({ length: steps }, (_, i) =>
    JSON.stringify({ ...row(i + 1), epoch: 0.01 * (i + 1), step: i + 1 }, (_key, value) =>
      Number.isNaN(value) ? 'not a number' : value,
    ).replaceAll('"not a number"', 'NaN'),
  ).join('\n');

const usual = (step: number) => ({
  loss: 0.001 * Math.sin(step),
  grad_norm: 0.3 + 0.05 * Math.sin(3 * step),
  learning_rate: 1e-6,
  num_tokens: 4000 * step,
  reward: 0.3 + 0.005 * step + 0.02 * Math.sin(5 * step),
  reward_std: 0.3,
  frac_reward_zero_std: 0.2,
  'completions/mean_length': 90,
  'completions/clipped_ratio': 0.02,
  'completions/mean_terminated_length': 88,
});

describe('a famous false alarm stays silent:', () => {
  const silent = async (steps: number, row: (step: number) => object) =>
    diagnoseText(
      'metrics.jsonl',
      trl(steps, (step) => ({ ...usual(step), ...row(step) })),
    );

  it.each<[string, number, (step: number) => object]>([
    ['a loss of 0 with a gradient (trl#2703)', 30, () => ({ loss: 0 })],
    ['a negative policy loss', 30, (step) => ({ loss: -0.04 - 0.001 * step })],
    [
      'deviation of the batch above 0 while all groups are flat for a few steps',
      30,
      (step) => (step % 10 < 3 ? { frac_reward_zero_std: 1, grad_norm: 0 } : {}),
    ],
    ['a KL that is no number at β = 0', 30, () => ({ kl: Number.NaN })],
    [
      'an entropy of 0.2 in a task that is learnt',
      60,
      (step) => ({ entropy: Math.max(0.2, 1 - step / 50), reward: Math.min(0.99, step / 50) }),
    ],
    [
      'flat groups near the end of a run that succeeds',
      60,
      (step) =>
        step > 40
          ? { reward: 1, reward_std: 0, frac_reward_zero_std: 1, grad_norm: 0 }
          : { reward: step / 41 },
    ],
    ['no clipping with one update a rollout', 60, () => ({ 'clip_ratio/region_mean': 0 })],
    ['evaluations that stay at 1', 60, (step) => (step % 5 === 0 ? { eval_reward: 1 } : {})],
    [
      'an evaluation of few problems that repeats itself now and then',
      60,
      (step) => (step % 5 === 0 ? { eval_reward: [0.32, 0.34, 0.34, 0.34, 0.36][(step / 5) % 5]! } : {}),
    ],
    [
      'a reward for the format that is earned from the start',
      60,
      () => ({
        'rewards/format/mean': 1,
        'rewards/format/std': 0,
        'rewards/answer/mean': 0.3,
        'rewards/answer/std': 0.4,
      }),
    ],
    [
      'an entropy coefficient that a controller raises step by step',
      60,
      (step) => ({ entropy: 0.5 - 0.002 * step, entropy_coef: 0.001 * step }),
    ],
  ])('%s', async (_, steps, row) => {
    const { sick, judgements } = await silent(steps, row);
    expect(sick).toEqual([]);
    expect(judgements.filter(({ judged }) => judged > 0).length).toBeGreaterThan(5);
  });
});
