import { testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { unscored } from '../plants.test.helper.js';

testStepCheck('B29.advantage', [
  {
    name: 'NaN',
    plant: ({ advantages }) => {
      advantages![9] = Number.NaN;
    },
    verdict: 'fail',
    evidence: { completion: 9 },
  },
  {
    name: 'an advantage without a reward',
    plant: ({ rewards }) => {
      rewards!.totals![9] = Number.NaN;
    },
    verdict: 'fail',
    evidence: { completion: 9 },
  },
  { name: 'no reward and no advantage', plant: unscored, verdict: 'pass', measured: { unscored: 2 } },
]);

testLogCheck('B29.log', [
  { name: 'NaN', metrics: { reward: [0.1, Number.NaN] }, verdict: 'fail', evidence: { step: 2 } },
  {
    name: 'a function that had nothing to say',
    metrics: { reward: [0.1, 0.2], 'rewards/x/mean': [Number.NaN, 1] },
    verdict: 'pass',
  },
]);

const still = { 'rewards/match/std': times(6, 0), 'rewards/format/std': times(6, 0) };

testLogCheck('B29.partial', [
  {
    name: 'a function that is right or silent',
    metrics: { ...still, reward_std: times(6, 0.4) },
    verdict: 'warn',
    measured: { entries: 6, apart: 6 },
    evidence: { step: 1 },
  },
  { name: 'nothing varies', metrics: { ...still, reward_std: times(6, 0) }, verdict: 'pass' },
  {
    name: 'a function that judges some groups alone',
    metrics: { ...still, reward_std: times(6, 0.4), frac_reward_zero_std: times(6, 0.5) },
    verdict: 'inform',
  },
  {
    name: 'a function varies',
    metrics: { ...still, 'rewards/match/std': times(6, 0.3), reward_std: times(6, 0.4) },
    verdict: 'pass',
  },
  { name: 'the total alone', metrics: { reward_std: times(6, 0.4) }, verdict: 'not applicable' },
]);
