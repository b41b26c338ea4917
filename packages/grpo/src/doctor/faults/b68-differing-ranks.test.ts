import { testStepCheck } from '../planted.test.helper.js';
import { facts } from '../plants.test.helper.js';

testStepCheck('B68.weights', [
  {
    name: 'one process',
    plant: ({ updates }) => {
      for (const update of updates!) delete update.weightChecksums;
    },
    verdict: 'not applicable',
  },
  { name: 'ranks with the same weights', plant: facts({ weightChecksums: [7, 7, 7] }), verdict: 'pass' },
  {
    name: 'a rank with weights of its own',
    plant: facts({ weightChecksums: [7, 7, 8] }),
    verdict: 'fail',
    measured: { update: 1, ranks: 3, differing: 1, rank: 2 },
  },
]);
