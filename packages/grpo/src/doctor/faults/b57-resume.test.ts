import { testLogCheck } from '../planted.test.helper.js';

testLogCheck('B57.log', [
  {
    name: 'counts anew',
    metrics: { num_tokens: [100, 200, 50, 100] },
    verdict: 'warn',
    evidence: { step: 3 },
  },
  {
    name: 'counts those of a step',
    metrics: { num_tokens: [100, 90, 110, 80, 100, 70, 120, 90, 60, 130] },
    verdict: 'not applicable',
  },
  { name: 'goes on', metrics: { num_tokens: [100, 200, 300] }, verdict: 'pass' },
]);
