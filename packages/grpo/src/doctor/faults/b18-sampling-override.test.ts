import { testStepCheck } from '../planted.test.helper.js';
import { all, offPlainly, sampled } from '../plants.test.helper.js';

testStepCheck('B18.override', [
  {
    name: 'top-p that nobody declared',
    plant: ({ completions }) => {
      completions!.sampledLogprobs = completions!.sampledLogprobs!.map((value, i) =>
        i % 7 ? value : value + 0.1,
      );
    },
    verdict: 'fail',
    evidence: { completion: 0, token: 0 },
  },
  {
    name: 'what the run declares is not known',
    plant: ({ declared }) => {
      delete declared!.rollout!.topK;
    },
    verdict: 'not applicable',
  },
  {
    name: 'rounding of bfloat16',
    plant: ({ completions, declared }) => {
      declared!.dtype = 'bfloat16';
      completions!.sampledLogprobs = completions!.sampledLogprobs!.map((value) => value + 0.005);
    },
    verdict: 'pass',
  },
]);

testStepCheck('B18.temperature', [
  {
    name: 'drawn at another',
    plant: all(
      offPlainly('sampler', 0.3, 1e-6, 3),
      sampled((value) => 0.3 + 0.4 * value),
    ),
    verdict: 'fail',
    measured: { fits: 0.7 },
  },
  {
    name: 'as log-probs after top-p fit, too',
    plant: all(
      offPlainly('sampler', 0.3, 1e-6, 3),
      sampled(() => 0.2),
    ),
    verdict: 'not applicable',
  },
  { name: 'fits none', plant: offPlainly('sampler', 0.3, 0.2, 3), verdict: 'not applicable' },
]);
