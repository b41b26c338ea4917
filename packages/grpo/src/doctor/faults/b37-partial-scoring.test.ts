import { change, cutScored, startOf, testLogCheck, testStepCheck, times } from '../planted.test.helper.js';

testStepCheck('B37.scored', [
  {
    name: 'only the first token is scored',
    plant: (record) => cutScored(record, 17, 1),
    verdict: 'fail',
    evidence: { completion: 17, values: { scored: 1 } },
  },
  {
    name: 'the end token alone is missing',
    plant: (record) => cutScored(record, 17, record.scored!.lengths![17]! - 1),
    verdict: 'pass',
  },
  { name: 'left out as a whole', plant: (record) => cutScored(record, 17, 0), verdict: 'pass' },
]);

testStepCheck('B37.broadcast', [
  {
    name: 'one position for all',
    plant: (record) => {
      const { lengths } = record.scored!;
      const policy = record.updates![0]!.policyLogprobs!;
      for (const [b, length] of lengths!.entries())
        policy.fill(-1 - b / 10, startOf(record, b), startOf(record, b) + length);
    },
    verdict: 'fail',
  },
  {
    name: 'certain tokens',
    plant: (record) => change(record, 'policyLogprobs', () => -1e-4),
    verdict: 'not applicable',
  },
]);

const plain = { objective: { ratio: 'none' as const } };
const moving = { reward_std: [0.12, 0.12], frac_reward_zero_std: [0, 0] };

testLogCheck('B37.log', [
  {
    name: 'a policy loss of 0 beside rewards that differ',
    metrics: { ...moving, policy_loss: [0.123, 0] },
    declared: plain,
    verdict: 'fail',
    measured: { zero: 1, deviation: 0.12 },
    evidence: { step: 2 },
  },
  {
    name: 'one zero in two hundred, as printed numbers have them',
    metrics: {
      reward_std: times(200, 0.12),
      policy_loss: times(200, (i) => (i === 7 ? 0 : 0.1)),
    },
    declared: plain,
    verdict: 'pass',
  },
  {
    name: 'with a ratio it is normal',
    metrics: { ...moving, policy_loss: [0, 0] },
    verdict: 'not applicable',
  },
  {
    name: 'equal rewards',
    metrics: { reward_std: [0.12, 0.12], frac_reward_zero_std: [1, 1], policy_loss: [0, 0] },
    declared: plain,
    verdict: 'not applicable',
  },
  {
    name: 'advantages that vanish',
    metrics: { ...moving, policy_loss: [0, 0], micro_steps: [2, 2], 'warnings/zero_advantages': [2, 2] },
    declared: plain,
    verdict: 'not applicable',
  },
  {
    name: 'nothing masked: that is the cause',
    metrics: { ...moving, policy_loss: [0, 0], masked_positions: [0, 0], 'warnings/zero_logprobs': [1, 1] },
    declared: plain,
    verdict: 'not applicable',
  },
  {
    name: 'a warning of the trainer alone',
    metrics: { loss: [0.1, 0], 'warnings/zero_logprobs': [undefined, 1] },
    verdict: 'warn',
    measured: { warned: 1 },
  },
]);
