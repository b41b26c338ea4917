import type { StepRecord } from '../../trace/index.js';
import { startOf, testStepCheck } from '../planted.test.helper.js';
import { all, maskedGarbage, off, offPlainly } from '../plants.test.helper.js';

/** Every completion's log-probs moved by one token within it. */
const shifted = (by: 1 | -1) => (record: StepRecord) => {
  const { lengths } = record.scored!;
  const policy = record.updates![0]!.policyLogprobs!;
  const moved = policy.slice();
  for (const [b, length] of lengths!.entries()) {
    const start = startOf(record, b);
    for (let t = 0; t < length; t++) moved[start + t] = policy[start + ((t + by + length) % length)]!;
  }
  record.updates![0]!.policyLogprobs = moved;
};

/** Log-probs with more to tell them apart. */
const spread = (record: StepRecord) => {
  const wide = record.completions!.samplerLogprobs!.map((value, i) => value * 3 - ((i * 7919) % 13) / 4);
  record.completions!.samplerLogprobs = wide;
  record.updates![0]!.policyLogprobs = wide.slice();
};

testStepCheck('B35.shift', [
  { name: 'the logits after a token', plant: all(spread, shifted(1)), verdict: 'fail', measured: { by: -1 } },
  { name: 'the logits two before', plant: all(spread, shifted(-1)), verdict: 'fail', measured: { by: 1 } },
  { name: 'far off, and not by a shift', plant: all(spread, off(2)), verdict: 'pass' },
  { name: 'masked completions', plant: maskedGarbage, verdict: 'pass' },
]);

testStepCheck('B35.plain', [
  {
    name: 'the logits after a token',
    plant: offPlainly('policy', 3, 3, 1e-6),
    verdict: 'fail',
    measured: { shift: 1 },
  },
  { name: 'fits neither', plant: offPlainly('policy', 3, 3, 2), verdict: 'not applicable' },
]);
