import { expect } from 'vitest';
import type { StepRecord } from '../../trace/index.js';
import { testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { declare, scaled, unscored } from '../plants.test.helper.js';

testStepCheck('B31.grouping', [
  {
    name: 'rewards of [p1, p2, …] read as [p1, p1, …]',
    plant: (record) => {
      const { completions } = record;
      const truth = completions!.prompt!;
      completions!.prompt = truth.map((_, b) => b % 6);
      scaled(1e-4, 1)(record);
      completions!.prompt = truth;
    },
    verdict: 'fail',
  },
  { name: 'rewards that were not graded', plant: unscored, verdict: 'pass' },
  {
    name: 'groups of which a part is on another machine',
    plant: declare({ rollout: { group: 8 } }),
    verdict: 'not applicable',
  },
]);

const flat = times(20, (i) => (i % 5) / 10);

testLogCheck('B31.log', [
  {
    name: 'advantages that spread as far where groups are flat',
    metrics: { 'advantages/std': times(20, (i) => 0.93 + (i % 3) / 100), frac_reward_zero_std: flat },
    verdict: 'warn',
    measured: { flat: expect.closeTo(0.2), most: expect.closeTo(Math.sqrt(0.8)) },
  },
  {
    name: 'advantages that flat groups narrow',
    metrics: { 'advantages/std': flat.map((share) => Math.sqrt(1 - share)), frac_reward_zero_std: flat },
    verdict: 'pass',
  },
  {
    name: 'a deviation over tokens, where flat groups have short completions',
    metrics: { 'advantages/std': flat.map((share) => Math.sqrt(1 - share / 3)), frac_reward_zero_std: flat },
    verdict: 'pass',
  },
  {
    name: 'advantages of the deviation 1, which are whitened',
    metrics: { 'advantages/std': times(20, 1), frac_reward_zero_std: flat },
    verdict: 'pass',
  },
  {
    name: 'rewards that nothing divides',
    metrics: { 'advantages/std': times(20, 0.93), frac_reward_zero_std: flat, reward_std: times(20, 1) },
    verdict: 'not applicable',
  },
  {
    name: 'hardly a flat group',
    metrics: { 'advantages/std': times(20, 1.02), frac_reward_zero_std: flat.map((share) => share / 4) },
    verdict: 'not applicable',
  },
]);

/** Writes a prompt for each completion: that of its group, or one with a token of its own. */
const spread = (isOwn: boolean) => (record: StepRecord) => {
  const { prompts, completions } = record;
  const first = [...prompts!.ids!.subarray(0, prompts!.lengths![0]!)];
  const rows = Array.from(completions!.prompt!, (p, b) => [...first, 100 + (isOwn ? b : p)]);
  prompts!.ids = Int32Array.from(rows.flat());
  prompts!.lengths = Int32Array.from(rows, ({ length }) => length);
  completions!.prompt = completions!.prompt!.map((_, b) => b);
};

testStepCheck('B31.size', [
  { name: 'a prompt for each completion, four the same', plant: spread(false), verdict: 'pass' },
  {
    name: 'a prompt of its own for each completion',
    plant: spread(true),
    verdict: 'warn',
    measured: { completions: 24, prompts: 24, group: 4 },
  },
  {
    name: 'prompts that are drawn anew within a group',
    plant: (record) => {
      record.completions!.prompt = record.completions!.prompt!.map((prompt, b) => (b === 1 ? 5 : prompt));
    },
    verdict: 'warn',
  },
  {
    name: 'parts of groups, as each process has them',
    plant: declare({ rollout: { group: 8 } }),
    verdict: 'pass',
  },
  {
    name: 'one completion for each prompt, as declared',
    plant: (record) => {
      spread(true)(record);
      record.declared!.rollout!.group = 1;
    },
    verdict: 'pass',
  },
]);
