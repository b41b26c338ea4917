import { testStepCheck } from '../planted.test.helper.js';
import { all, half } from '../plants.test.helper.js';

testStepCheck('B13.alone', [
  {
    name: 'positions moved by padding',
    plant: ({ probes }) => {
      probes!.aloneInBatch!.max = 5;
    },
    verdict: 'fail',
  },
  {
    name: 'kernels of bfloat16',
    plant: all(({ probes }) => {
      probes!.aloneInBatch!.max = 0.1;
    }, half),
    verdict: 'pass',
  },
]);
