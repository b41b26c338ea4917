import type { StepRecord } from '../../trace/index.js';
import { startOf, testStepCheck } from '../planted.test.helper.js';
import { all, half } from '../plants.test.helper.js';

testStepCheck('B13.alone', [
  {
    name: 'positions moved by padding',
    plant: ({ probes }) => {
      probes!.aloneInBatch!.max = 5;
    },
    verdict: 'fail',
  },
  {
    name: 'kernels of bfloat16',
    plant: all(({ probes }) => {
      probes!.aloneInBatch!.max = 0.1;
    }, half),
    verdict: 'pass',
  },
]);

/** Policy and sampler differ on the completions of the prompts that fulfil `isOff`. */
const offOn = (isOff: (prompt: number) => boolean) => (record: StepRecord) => {
  const { prompt, lengths } = record.completions!;
  const policy = record.updates![0]!.policyLogprobs!;
  for (const [b, p] of prompt!.entries()) {
    const start = startOf(record, b);
    if (isOff(p)) for (let t = start; t < start + lengths![b]!; t++) policy[t]! -= t % 2 ? 0.2 : -0.3;
  }
};

testStepCheck('B13.padding', [
  {
    name: 'all prompts but the longest',
    plant: offOn((p) => p < 5),
    verdict: 'warn',
    evidence: { prompt: 0, values: { tokens: 10 } },
    measured: { agree: 1, apart: 5 },
  },
  { name: 'the longest prompts', plant: offOn((p) => p > 3), verdict: 'pass' },
  { name: 'one prompt', plant: offOn((p) => p === 0), verdict: 'pass' },
  { name: 'all prompts', plant: offOn(() => true), verdict: 'not applicable' },
]);
