import type { StepRecord } from '../../trace/index.js';
import { testStepCheck } from '../planted.test.helper.js';
import { declare, weigh } from '../plants.test.helper.js';

const width = (record: StepRecord) => Math.max(...record.scored!.lengths!);

testStepCheck('B46.padding', [
  {
    name: 'divided by what the batch is wide',
    plant: (record) => weigh((_, rows) => 1 / (rows * width(record)))(record),
    verdict: 'fail',
  },
  {
    name: 'dr_grpo, whose constant is the width by chance',
    plant: (record) => {
      weigh((_, rows) => 1 / (rows * width(record)))(record);
      declare({ objective: { loss: 'dr_grpo' }, rollout: { maxNewTokens: width(record) } })(record);
    },
    verdict: 'not applicable',
  },
]);
