import { testStepCheck } from '../planted.test.helper.js';
import { all, offPlainly, sampled } from '../plants.test.helper.js';

const cool = { temperature: 0.7 };

testStepCheck('B67.temperature', [
  {
    name: 'log-probs of temperature 1',
    into: cool,
    plant: all(
      offPlainly('sampler', 0.3, 1e-6, 3),
      sampled((value) => 0.3 + 0.4 * value),
    ),
    verdict: 'fail',
    measured: { fits: 1, declared: 0.7 },
  },
  {
    name: 'those of the declared temperature',
    into: cool,
    plant: offPlainly('sampler', 1e-6, 0.3, 3),
    verdict: 'pass',
  },
  {
    name: 'a temperature of 1 has one mode',
    plant: offPlainly('sampler', 0.3, 1e-6, 3),
    verdict: 'not applicable',
  },
  { name: 'fits none', into: cool, plant: offPlainly('sampler', 0.3, 0.2, 3), verdict: 'not applicable' },
]);
