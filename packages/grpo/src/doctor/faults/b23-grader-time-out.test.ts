import { testStepCheck } from '../planted.test.helper.js';
import { onRows } from '../plants.test.helper.js';

testStepCheck('B23.canary', [
  {
    name: 'right answers graded 0',
    plant: onRows('gold', 1, { value: 0 }),
    verdict: 'warn',
    evidence: { text: 'gold', values: { value: 0, least: 0.2 } },
    measured: { probes: 4, wrong: 2 },
  },
  {
    name: 'right answers that could not be graded: not its business',
    plant: onRows('gold', 1, { value: null }),
    verdict: 'pass',
  },
]);
