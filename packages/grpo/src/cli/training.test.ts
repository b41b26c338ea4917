import { expect, it } from 'vitest';
import type { Reporter, StepRow } from './live.js';
import { watcherOf } from './training.js';

const METRICS = { step_tokens: 8, reward: 1, reward_std: 0.5, 'completions/mean_length': 4 };
const TIMINGS = {
  ended_at: 1.7e9,
  step_time: 1.6,
  tokens_per_second: 5,
  rss_bytes: 1,
  peak_rss_bytes: 1,
  'seconds/sample': 0.04,
  'seconds/score': 1.5,
  'reward_seconds/format': 0.01,
  'reward_seconds/slow': 1.49,
};

/** What a reporter is told of steps. */
function rowsOf(steps: readonly { metrics?: object; timings?: object }[]): StepRow[] {
  const rows: StepRow[] = [];
  const reporter = { step: (row: StepRow) => rows.push(row) } as unknown as Reporter;
  const watcher = watcherOf(reporter, 10, 4);
  for (const [i, { metrics, timings }] of steps.entries())
    watcher.step!(
      { ...METRICS, step: i + 1, frac_reward_zero_std: 0.25, ...metrics },
      { ...TIMINGS, step: i + 1, ...timings },
    );
  return rows;
}

it('names a slow reward from the second step on', () => {
  const times = rowsOf([{}, {}]).map(({ time }) => time);
  expect(times[0]).toEqual({ seconds: 1.6, checks: 0, stage: 'score', share: 1.5 / 1.6 });
  expect(times[1]).toEqual({ ...times[0], fault: 'the reward slow, not the model' });
});

it('leaves the checks of a step aside', () => {
  const [, row] = rowsOf([{}, { timings: { 'seconds/audit': 1.6, 'seconds/probe': 0.1, step_time: 3.3 } }]);
  expect(row!.time).toMatchObject({ stage: 'score', share: expect.closeTo(1.5 / 1.6, 9) });
  expect(row!.time!.checks).toBeCloseTo(1.7, 9);
});

it.each([
  ['a stage that is not the scoring', { 'seconds/backward': 3, step_time: 5 }],
  ['a scoring of less than a second', { 'seconds/score': 0.9, step_time: 1 }],
  ['a scoring of less than half of the step', { 'seconds/sample': 1.6, step_time: 3.3 }],
])('blames no reward for %s', (_, timings) => {
  const [, row] = rowsOf([{}, { timings }]);
  expect(row!.time!.fault).toBeUndefined();
});

it('counts the groups that teach, those in the place of flat ones too', () => {
  const rows = rowsOf([{}, { metrics: { frac_reward_zero_std: 1 } }, { metrics: { groups_flat: 0 } }]);
  expect(rows.map(({ groups }) => groups?.differing)).toEqual([3, 0, 4]);
});
