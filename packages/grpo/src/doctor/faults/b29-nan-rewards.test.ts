import { testLogCheck, testStepCheck } from '../planted.test.helper.js';
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
