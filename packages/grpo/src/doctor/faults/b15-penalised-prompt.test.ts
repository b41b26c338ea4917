import { startOf, testStepCheck } from '../planted.test.helper.js';

testStepCheck('B15.first-token', [
  {
    name: 'penalties that see the prompt',
    into: { penalties: true },
    plant: (record) => {
      record.completions!.sampledLogprobs![startOf(record, 8)]! += 0.02;
    },
    verdict: 'fail',
    evidence: { completion: 8, token: 0 },
  },
  {
    name: 'with top-p the first token may be likelier',
    into: { penalties: true },
    plant: (record) => {
      record.declared!.rollout!.topP = 0.9;
      record.completions!.sampledLogprobs![startOf(record, 8)]! += 0.05;
    },
    verdict: 'pass',
  },
  {
    name: 'with top-p it is not less likely',
    into: { penalties: true },
    plant: (record) => {
      record.declared!.rollout!.topP = 0.9;
      record.completions!.sampledLogprobs![startOf(record, 8)]! -= 0.05;
    },
    verdict: 'fail',
    evidence: { completion: 8 },
  },
]);
