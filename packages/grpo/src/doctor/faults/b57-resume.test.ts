import { testLogCheck } from '../planted.test.helper.js';

testLogCheck('B57.log', [
  {
    name: 'counts anew',
    metrics: { num_tokens: [100, 200, 50, 100] },
    verdict: 'warn',
    evidence: { step: 3 },
  },
  { name: 'goes on', metrics: { num_tokens: [100, 200, 300] }, verdict: 'pass' },
]);
