import { change, testStepCheck } from '../planted.test.helper.js';
import { all } from '../plants.test.helper.js';

testStepCheck('B36.rows', [
  {
    name: 'all tokens read from one row',
    plant: (record) => change(record, 'policyLogprobs', (_, i) => -record.scored!.ids![i]! / 10 - 1),
    verdict: 'fail',
  },
  {
    name: 'masked completions read so',
    plant: all(
      (record) => change(record, 'policyLogprobs', (_, i) => -record.scored!.ids![i]! / 10 - 1),
      ({ scored }) => void scored!.mask!.fill(0),
    ),
    verdict: 'not applicable',
  },
]);
