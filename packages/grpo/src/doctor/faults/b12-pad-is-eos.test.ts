import { testStepCheck } from '../planted.test.helper.js';
import { lastToken, setMask } from '../plants.test.helper.js';
import { PAD } from '../rich-record.test.helper.js';

testStepCheck('B12.padding', [
  {
    name: 'the end token that is the padding is masked',
    plant: (record) => setMask(record, 9, lastToken(record, 9), 0),
    verdict: 'fail',
    evidence: { completion: 9 },
    measured: { pad: PAD },
  },
  {
    name: 'padding is no end token',
    plant: ({ tokenizer }) => {
      tokenizer!.padId = 5;
    },
    verdict: 'not applicable',
  },
]);
