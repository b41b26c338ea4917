import { testLogCheck, testStepCheck, times } from '../planted.test.helper.js';

testStepCheck('B30.flat', [
  {
    name: 'all groups flat',
    plant: ({ rewards }) => void rewards!.totals!.fill(1),
    verdict: 'inform',
    measured: { share: 1, reward: 1 },
  },
  {
    name: 'two thirds of groups of two',
    plant: (record) => {
      record.completions!.prompt = record.completions!.prompt!.map((_, b) => Math.floor(b / 2));
      record.rewards!.totals!.set(record.rewards!.totals!.map((_, b) => (b % 6 === 0 ? 1 : 0)));
    },
    verdict: 'pass',
  },
]);

testLogCheck('B30.expected', [
  {
    name: 'half and a fifth',
    metrics: { frac_reward_zero_std: times(5, 0.5), frac_reward_zero_std_expected: times(5, 0.2) },
    verdict: 'inform',
  },
  {
    name: 'as expected',
    metrics: { frac_reward_zero_std: times(5, 0.24), frac_reward_zero_std_expected: times(5, 0.2) },
    verdict: 'pass',
  },
  {
    name: 'few of fewer',
    metrics: { frac_reward_zero_std: times(5, 0.06), frac_reward_zero_std_expected: times(5, 0.02) },
    verdict: 'pass',
  },
]);

testLogCheck('B30.few', [
  {
    name: 'all from an entry on, with the reward gone',
    metrics: { reward: [0.03, 0.01, 0.03, 0, 0], frac_reward_zero_std: [0, 0.1, 0, 1, 1] },
    verdict: 'warn',
    evidence: { step: 4 },
    measured: { from: 0.1 / 3, to: 1 },
  },
  {
    name: 'nearly all in the end, with a reward below its best',
    metrics: { reward: [0.5, 0.72, 0.8, 0.525, 0.5], frac_reward_zero_std: [0.45, 0.7, 0.9, 0.95, 1] },
    verdict: 'warn',
    measured: { isSteady: true, to: 1, kl: false },
  },
  {
    name: 'nearly all in the end, with a reward at its best',
    metrics: { reward: [0.5, 0.72, 0.8, 0.85, 0.84], frac_reward_zero_std: [0.45, 0.7, 0.9, 0.95, 1] },
    verdict: 'inform',
  },
  {
    name: 'most from an entry on, as the reward rises',
    metrics: { reward: [0.4, 0.5, 0.8, 0.9], frac_reward_zero_std: [0.1, 0.1, 0.8, 0.8] },
    verdict: 'inform',
    measured: { step: 3 },
  },
  {
    name: 'a mean of 0 in a few entries, which tells nothing of groups',
    metrics: { reward: [-0.4, 0, 0, 0, 0] },
    verdict: 'not applicable',
  },
  {
    name: 'all in the last entry alone',
    metrics: { reward: [0.4, 0.5, 0.4, 0], frac_reward_zero_std: [0.1, 0.1, 0.1, 1] },
    verdict: 'pass',
  },
  {
    name: 'one entry, in which single rewards differ between prompts',
    metrics: { frac_reward_zero_std: [1], reward: [3], reward_std: [0], 'rewards/a/std': [5.1] },
    verdict: 'inform',
    measured: { steps: 1, share: 1, apart: true },
  },
  {
    name: 'deviations of 0 in half of the entries',
    metrics: { reward: [0.4, 0, 0, 0.5], reward_std: [0.5, 0, 0, 0.5] },
    verdict: 'inform',
    measured: { steps: 4, share: 0.5, apart: false },
  },
  {
    name: 'a deviation of single rewards in a step that has a signal',
    metrics: { reward: [0.4, 0], frac_reward_zero_std: [0, 1], 'rewards/a/std': [0.5, 0] },
    verdict: 'inform',
    measured: { share: 0.5, apart: false },
  },
  {
    name: 'fewer',
    metrics: { reward: [0.4, 0, 0.2], frac_reward_zero_std: [0, 1, 0] },
    verdict: 'pass',
  },
  {
    name: 'three without any signal, which B20.log judges',
    metrics: { reward: [0.4, 0, 0.2], frac_reward_zero_std: times(3, 1) },
    verdict: 'pass',
  },
  {
    name: 'most, in a log without a reward',
    metrics: { frac_reward_zero_std: [0.6, 0.9, 0.95] },
    verdict: 'inform',
    measured: { steps: 3, right: false },
  },
  {
    name: 'most, where they may be all right',
    metrics: { frac_reward_zero_std: [0.75], reward: [0.94] },
    verdict: 'inform',
    measured: { right: true },
  },
  {
    name: 'a reward alone',
    metrics: { reward: [0.4, 0, 0.2] },
    verdict: 'not applicable',
  },
  {
    name: 'as many steps as B30.log judges',
    metrics: { reward: times(20, 0.4), frac_reward_zero_std: times(20, 1) },
    verdict: 'not applicable',
  },
]);

const OF_TWO = {
  frac_reward_zero_std: times(40, (i) => 0.6 + 0.02 * (i % 2)),
  reward: times(40, (i) => 0.35 + 0.05 * (i % 3)),
};

testLogCheck('B30.log', [
  {
    name: 'groups of two, of which most are equal by chance',
    metrics: OF_TWO,
    declared: { rollout: { group: 2 } },
    verdict: 'inform',
  },
  { name: 'as many groups of four', metrics: OF_TWO, declared: { rollout: { group: 4 } }, verdict: 'warn' },
  {
    name: 'steps whose reward is exactly 0, in a log of the reward alone',
    metrics: { reward: times(60, (i) => (i % 5 === 0 ? 0.5 : 0)) },
    verdict: 'warn',
    measured: { least: true, share: 0.8 },
  },
  {
    name: 'rewards that repeat, but are no bound',
    metrics: { reward: times(60, (i) => (i % 5 === 0 ? 0.5 : 0.25)) },
    verdict: 'not applicable',
  },
  {
    name: 'penalties, whose top nobody knows',
    metrics: { frac_reward_zero_std: times(40, 0.8), reward: times(40, (i) => (i % 5 === 0 ? -0.4 : 0)) },
    verdict: 'warn',
    measured: { state: 'still' },
  },
  {
    name: 'most groups all wrong, throughout',
    metrics: {
      frac_reward_zero_std: times(30, (i) => 0.6 + 0.1 * (i % 2)),
      reward: times(30, (i) => 0.05 * (i % 3)),
    },
    verdict: 'warn',
    measured: { state: 'still' },
  },
  {
    name: 'a third in a long run that learns nothing',
    metrics: {
      frac_reward_zero_std: times(120, (i) => 0.3 + 0.1 * (i % 2)),
      reward: times(120, (i) => 0.1 * (i % 3)),
    },
    verdict: 'warn',
  },
  {
    name: 'entries without deviation, in a log that counts no groups',
    metrics: { reward_std: times(30, (i) => (i % 3 ? 0 : 0.2)), reward: times(30, (i) => 0.05 * (i % 3)) },
    verdict: 'warn',
    measured: { least: true },
  },
  {
    name: 'a reward too low for its flat groups to be all right',
    metrics: { frac_reward_zero_std: times(30, 0.85), reward: times(30, (i) => 0.68 + 0.02 * (i % 3)) },
    verdict: 'warn',
  },
  {
    name: 'most groups all right',
    metrics: { frac_reward_zero_std: times(30, 0.8), reward: times(30, (i) => 0.8 + 0.05 * (i % 3)) },
    verdict: 'inform',
    measured: { state: 'high' },
  },
  {
    name: 'a reward that rises all the same',
    metrics: { frac_reward_zero_std: times(60, 0.6), reward: times(60, (i) => i / 120) },
    verdict: 'inform',
    measured: { state: 'rising' },
  },
  {
    name: 'one prompt that is flat by chance',
    metrics: {
      frac_reward_zero_std: times(40, (i) => (i > 9 && i < 16 ? 1 : 0)),
      reward: times(40, (i) => (i % 3) / 4),
    },
    verdict: 'pass',
  },
]);

testLogCheck('B30.gradient', [
  {
    name: 'a gradient out of nothing',
    metrics: { frac_reward_zero_std: [1, 0.5, 1], grad_norm: [0.3, 1, 0] },
    declared: { kl: { beta: 0 } },
    verdict: 'fail',
    evidence: { step: 1 },
  },
  {
    name: 'what TRL leaks',
    metrics: { frac_reward_zero_std: [1, 1], grad_norm: [2e-3, 1e-4] },
    declared: { kl: { beta: 0 } },
    verdict: 'pass',
  },
  {
    name: 'a reward without a baseline',
    metrics: { frac_reward_zero_std: [1], grad_norm: [0.3] },
    declared: { kl: { beta: 0 }, advantage: { baseline: 'none' } },
    verdict: 'not applicable',
  },
  {
    name: 'flat groups that gave way to others',
    metrics: { frac_reward_zero_std: [1, 1], grad_norm: [0.3, 0], groups_refilled: [2, 0] },
    declared: { kl: { beta: 0 } },
    verdict: 'pass',
    measured: { entries: 1 },
  },
  {
    name: 'a bonus that comes and goes',
    metrics: { frac_reward_zero_std: [1], grad_norm: [0.3], entropy_coef: [0.1] },
    declared: { kl: { beta: 0 } },
    verdict: 'not applicable',
  },
  {
    name: 'a KL has a gradient',
    metrics: { frac_reward_zero_std: [1], grad_norm: [0.3] },
    declared: { kl: { beta: 0.1 } },
    verdict: 'not applicable',
  },
  {
    name: 'experts have a loss of their own',
    metrics: { frac_reward_zero_std: [1], grad_norm: [0.3], aux_loss: [1] },
    declared: { kl: { beta: 0 } },
    verdict: 'not applicable',
  },
]);

testLogCheck('B30.warned', [
  {
    name: 'no advantage where rewards differ',
    metrics: { 'warnings/zero_advantages': [2, 2], frac_reward_zero_std: [0, 0.5], micro_steps: [2, 2] },
    verdict: 'warn',
    measured: { contradicted: 2 },
  },
  {
    name: 'no advantage where rewards are equal',
    metrics: { 'warnings/zero_advantages': [2, 1], frac_reward_zero_std: [1, 0.5], micro_steps: [2, 2] },
    verdict: 'pass',
  },
]);
