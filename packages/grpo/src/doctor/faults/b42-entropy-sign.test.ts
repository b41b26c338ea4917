import { ENTROPY_SHARE } from '../../trace/index.js';
import { type LossTerms, lossTerms } from '../measures/loss-terms.js';
import { testLogCheck, testStepCheck } from '../planted.test.helper.js';
import { declare } from '../plants.test.helper.js';

testLogCheck('B42.log', [
  {
    name: 'the harder it is pushed, the lower',
    metrics: { entropy_coef: [0.2, 0.5, 1, 2, 6], entropy: [1, 0.7, 0.4, 0.2, 0.03] },
    verdict: 'warn',
  },
  {
    name: 'it helps in the end',
    metrics: { entropy_coef: [0.2, 0.5, 1, 2, 6], entropy: [1, 0.7, 0.6, 0.8, 0.9] },
    verdict: 'pass',
  },
]);

testStepCheck('B42.sign', [
  {
    name: 'the bonus raises the loss',
    into: { bonus: true },
    plant: ({ updates }) => {
      updates![0]!.components!.at(-1)!.coefficient = 0.01;
    },
    verdict: 'fail',
  },
  {
    name: 'parts are not logged, and the loss is larger by the bonus, not less',
    into: { bonus: true },
    plant: (record) => {
      const own = lossTerms(record, record.updates![0]!) as LossTerms;
      for (const update of record.updates!) update.components!.pop();
      record.updates![0]!.loss = own.loss + 2 * own.bonus;
    },
    verdict: 'fail',
    evidence: { values: { update: 1 } },
  },
  {
    name: 'parts are not logged, and the loss is right',
    into: { bonus: true },
    plant: ({ updates }) => {
      for (const update of updates!) update.components!.pop();
    },
    verdict: 'pass',
  },
  {
    name: 'the gradient has the entropy’s with the wrong sign',
    into: { bonus: true },
    plant: ({ audit }) => {
      const numbers = { found: 0.01, plain: -0.01, deviation: 0.02, bound: 1e-4 };
      audit!.comparisons.push({ handOver: 'gradient', quantity: ENTROPY_SHARE, compared: 1, ...numbers });
    },
    verdict: 'fail',
    measured: { share: 0.01 },
  },
  {
    name: 'the logged sign is right, the gradient’s is not',
    into: { bonus: true },
    plant: ({ probes }) => {
      probes!.tinyStep!.entropyChange = -0.01;
    },
    verdict: 'fail',
    measured: { entropyChange: -0.01 },
  },
  {
    name: 'a bonus that wants certainty, as declared',
    into: { bonus: true },
    plant: declare({ entropy: { coefficient: -0.01 } }),
    verdict: 'not applicable',
  },
]);
