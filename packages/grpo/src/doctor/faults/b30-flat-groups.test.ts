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

testLogCheck('B30.log', [
  {
    name: 'flat while all is wrong',
    metrics: { frac_reward_zero_std: [0.5, ...times(6, 1)], reward: [0.2, ...times(6, 0)] },
    verdict: 'warn',
    evidence: { step: 2 },
  },
  {
    name: 'flat because all is right',
    metrics: { frac_reward_zero_std: [0.5, ...times(6, 1)], reward: [0.2, ...times(6, 1)] },
    verdict: 'inform',
    measured: { learnt: true },
  },
  {
    name: 'never the same: B20.log’s',
    metrics: { frac_reward_zero_std: times(6, 1), reward: times(6, 0) },
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
