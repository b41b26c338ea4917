import { testLogCheck, times } from '../planted.test.helper.js';

const everyStep = { stepsPerEntry: 1 };

testLogCheck('B20.log', [
  {
    name: 'the fallback throughout',
    metrics: { reward: times(4, 0.5), reward_std: times(4, 0) },
    verdict: 'warn',
    measured: { reward: 0.5 },
  },
  {
    name: 'after an evaluation of the model as it came',
    metrics: { eval_reward: [0], reward: [undefined, 0, 0, 0], reward_std: [undefined, 0, 0, 0] },
    firstStep: 0,
    verdict: 'warn',
    measured: { entries: 3 },
    evidence: { step: 1, text: 'reward', values: { value: 0 } },
  },
  {
    name: 'a reward that moves once',
    metrics: { reward: [0, 0, 0.1, 0], reward_std: [0, 0, 0.2, 0] },
    verdict: 'pass',
  },
  { name: 'two entries', metrics: { reward: [0.5, 0.5], reward_std: [0, 0] }, verdict: 'not applicable' },
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

testLogCheck('B53.log', [
  {
    name: 'differences and no gradient',
    metrics: { frac_reward_zero_std: times(4, 0.25), grad_norm: times(4, 0) },
    series: everyStep,
    verdict: 'fail',
    measured: { dead: 4 },
  },
  {
    name: 'one step without',
    metrics: { frac_reward_zero_std: times(4, 0.25), grad_norm: [1, 0, 1, 1] },
    series: everyStep,
    verdict: 'warn',
    evidence: { step: 2 },
  },
  {
    name: 'what differed was masked',
    metrics: { frac_reward_zero_std: times(4, 0.25), grad_norm: times(4, 0) },
    declared: { maskTruncated: true },
    verdict: 'warn',
  },
  {
    name: 'averaged entries',
    metrics: { frac_reward_zero_std: times(4, 0.25), grad_norm: times(4, 0) },
    series: { stepsPerEntry: 10 },
    verdict: 'not applicable',
  },
  {
    name: 'no differences',
    metrics: { frac_reward_zero_std: times(4, 1), grad_norm: times(4, 0) },
    verdict: 'not applicable',
  },
  {
    name: 'reward_std over the batch tells nothing of groups',
    metrics: { reward_std: times(4, 0.3), grad_norm: times(4, 0) },
    series: { rewardDeviation: 'batch' },
    verdict: 'not applicable',
  },
  {
    name: 'reward_std over groups does',
    metrics: { reward_std: times(4, 0.3), grad_norm: times(4, 0) },
    series: { rewardDeviation: 'groups' },
    verdict: 'fail',
  },
]);

testLogCheck('B30.gradient', [
  {
    name: 'a gradient out of nothing',
    metrics: { frac_reward_zero_std: [1, 0.5, 1], grad_norm: [0.3, 1, 0] },
    declared: { beta: 0 },
    verdict: 'fail',
    evidence: { step: 1 },
  },
  {
    name: 'what TRL leaks',
    metrics: { frac_reward_zero_std: [1, 1], grad_norm: [2e-3, 1e-4] },
    declared: { beta: 0 },
    verdict: 'pass',
  },
  {
    name: 'a reward without a baseline',
    metrics: { frac_reward_zero_std: [1], grad_norm: [0.3] },
    declared: { beta: 0, baseline: 'none' },
    verdict: 'not applicable',
  },
  {
    name: 'flat groups that gave way to others',
    metrics: { frac_reward_zero_std: [1, 1], grad_norm: [0.3, 0], groups_refilled: [2, 0] },
    declared: { beta: 0 },
    verdict: 'pass',
    measured: { entries: 1 },
  },
  {
    name: 'a bonus that comes and goes',
    metrics: { frac_reward_zero_std: [1], grad_norm: [0.3], entropy_coef: [0.1] },
    declared: { beta: 0 },
    verdict: 'not applicable',
  },
  {
    name: 'a KL has a gradient',
    metrics: { frac_reward_zero_std: [1], grad_norm: [0.3] },
    declared: { beta: 0.1 },
    verdict: 'not applicable',
  },
  {
    name: 'experts have a loss of their own',
    metrics: { frac_reward_zero_std: [1], grad_norm: [0.3], aux_loss: [1] },
    declared: { beta: 0 },
    verdict: 'not applicable',
  },
]);
