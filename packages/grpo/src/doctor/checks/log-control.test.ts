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
  {
    name: 'a β that is warmed up',
    metrics: {
      loss: times(6, (i) => i * 0.02 * 0.2),
      kl: times(6, 0.2),
      beta: times(6, (i) => i * 0.02),
    },
    declared: onPolicy,
    verdict: 'pass',
  },
  {
    name: 'a KL in the reward',
    metrics: { loss: times(6, 0), kl: times(6, 0.2), beta: times(6, 0.1) },
    declared: { ...onPolicy, klPlace: 'reward' },
    verdict: 'pass',
  },
  {
    name: 'another loss of sequences',
    metrics: { loss: times(6, -0.4), kl: times(6, 0.2) },
    declared: {
      ...onPolicy,
      loss: 'gspo',
      policy: 'clip',
      ratioLevel: 'sequence',
      aggregation: 'sequence_mean',
    },
    verdict: 'warn',
  },
  {
    name: 'advantages without a baseline',
    metrics: { loss: times(6, -0.4), kl: times(6, 0.2) },
    declared: { ...onPolicy, baseline: 'none' },
    verdict: 'not applicable',
  },
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
