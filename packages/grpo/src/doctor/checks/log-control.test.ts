import { testLogCheck, times } from '../planted.test.helper.js';

const onPolicy = { loss: 'grpo', beta: 0.1, updatesPerRollout: 1 };

testLogCheck('B43.loss-log', [
  {
    name: 'another loss',
    metrics: { loss: times(6, -0.4), kl: times(6, 0.2) },
    declared: onPolicy,
    verdict: 'warn',
    evidence: { step: 1, text: 'loss' },
  },
  {
    name: 'β × KL, but for lengths',
    metrics: { loss: times(6, 0.017), kl: times(6, 0.2) },
    declared: onPolicy,
    verdict: 'pass',
  },
  {
    name: 'tokens count alike',
    metrics: { loss: times(6, -0.4), kl: times(6, 0.2) },
    declared: { ...onPolicy, loss: 'dapo' },
    verdict: 'not applicable',
  },
]);
testLogCheck('B50.log', [
  {
    name: 'a β that nobody reads',
    metrics: { kl: times(60, 5), beta: times(60, 0.1) },
    declared: { klTarget: 0.1 },
    verdict: 'warn',
    measured: { stuck: 60 },
  },
  {
    name: 'a β that follows',
    metrics: { kl: times(60, 5), beta: times(60, (i) => 0.1 * 1.1 ** i) },
    declared: { klTarget: 0.1 },
    verdict: 'pass',
  },
  {
    name: 'a KL around its target',
    metrics: { kl: times(60, (i) => 0.1 + (i % 3) / 100), beta: times(60, 0.1) },
    declared: { klTarget: 0.1 },
    verdict: 'pass',
  },
  { name: 'no target known', metrics: { kl: times(60, 5), beta: times(60, 0.1) }, verdict: 'not applicable' },
]);
testLogCheck('B57.log', [
  {
    name: 'counts anew',
    metrics: { num_tokens: [100, 200, 50, 100] },
    verdict: 'warn',
    evidence: { step: 3 },
  },
  { name: 'goes on', metrics: { num_tokens: [100, 200, 300] }, verdict: 'pass' },
]);
