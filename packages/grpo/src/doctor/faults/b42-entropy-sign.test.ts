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
