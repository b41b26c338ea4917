import { testLogCheck } from '../planted.test.helper.js';

testLogCheck('B45.masks', [
  {
    name: 'none',
    metrics: { masked_positions: [40, 0], loss: [0.1, 0] },
    verdict: 'fail',
    evidence: { step: 2 },
  },
  { name: 'some', metrics: { masked_positions: [40, 1], loss: [0.1, 0.1] }, verdict: 'pass' },
]);
testLogCheck('B44.log', [
  {
    name: 'two skipped',
    metrics: { micro_steps: [16, 16], 'micro_steps/executed': [16, 14] },
    verdict: 'fail',
    evidence: { step: 2 },
    measured: { executed: 14, divisor: 16 },
  },
  {
    name: 'two skipped, and the divisor follows',
    metrics: { micro_steps: [16], 'micro_steps/executed': [14], loss_divisor: [14] },
    verdict: 'pass',
  },
]);
testLogCheck('B43.log', [
  {
    name: 'the last micro-step’s',
    metrics: { loss: [0.4], policy_loss: [0.1], kl_penalty: [0.05], 'micro_steps/executed': [16] },
    verdict: 'inform',
  },
  {
    name: 'the mean',
    metrics: { loss: [0.15], policy_loss: [0.1], kl_penalty: [0.05], 'micro_steps/executed': [16] },
    verdict: 'pass',
  },
]);
