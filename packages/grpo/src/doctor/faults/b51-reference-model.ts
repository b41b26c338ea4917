import { logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { at, klOfStepOne } from '../log-view.js';
import { compareFirst, placeOf } from '../measures/first-update.js';
import { fail, notApplicable, pass } from '../outcome.js';
import { say } from '../sentence.js';
import { isFull, toleranceOf } from '../tolerance.js';

export const b51: Fault = {
  code: 'B51',
  name: 'reference model',
  title: 'The reference is not the intended model',
  checks: [
    logCheck({
      code: 'B51.anchor',
      title: 'The weights of the reference do not change',
      stage: 'kl',
      kind: 'identity',
      level: 1,
      rank: 9,
      threshold:
        'the checksum of its weights is the same in all entries, unless the policy is declared to be mixed into the reference',
      sources: ['NVIDIA-NeMo/RL#3722', 'unslothai/unsloth-zoo#832'],
      why: 'Seen in a resumed run that made its reference from the current weights.',
      remedy: 'Load the reference from where the run began, and never from the last checkpoint.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B49', 'B50'],
      proofs: ['native'],
      needs: ['checksum/reference'],
      test(log) {
        if (log.declared.kl?.referenceEvery)
          return notApplicable('a reference that stays: declared.kl.referenceEvery moves it');
        const sums = log.column('checksum/reference');
        const known = [...sums.keys()].filter((i) => !Number.isNaN(sums[i]!));
        const moved = known.filter((i, k) => k > 0 && sums[i] !== sums[known[k - 1]!]);
        const measured = { entries: known.length, changes: moved.length };
        const evidence = moved.map((i) => at(log, i, 'checksum/reference', sums[i]!));
        return moved.length > 0 ? fail(measured, evidence) : pass(measured);
      },
      says: (m) =>
        say`The weights of the reference changed ${m.changes} times over ${m.entries} steps: the KL has no fixed anchor.`,
    }),
    stepCheck({
      code: 'B51.start',
      title: 'On the first step the reference equals the policy',
      stage: 'kl',
      kind: 'identity',
      level: 3,
      rank: 5,
      threshold:
        'mean |policy − reference| within the tolerance of the precision (1e-4 nat in float32, 0.03 in half precision)',
      sources: ['arXiv:2402.03300', 'NVIDIA-NeMo/RL#3722'],
      why: 'In another run the base model as reference of an SFT policy gave a KL of 1.007 at step 1.',
      remedy: 'Load the reference from the weights that training starts with.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B49', 'B50'],
      proofs: ['native'],
      needs: ['firstPolicyLogprobs', 'referenceLogprobs'],
      test({ firstPolicyLogprobs, referenceLogprobs }, record) {
        if (record.step > 1) return notApplicable('the first step of a run');
        const gap = compareFirst(record, firstPolicyLogprobs, referenceLogprobs);
        if (gap.tokens === 0) return notApplicable('tokens scored by both');
        const tolerance = toleranceOf(record);
        const measured = {
          mean: gap.mean,
          max: gap.max,
          signed: gap.signed,
          sampler: record.completions?.samplerLogprobs !== undefined,
        };
        return gap.mean <= tolerance.mean ? pass(measured) : fail(measured, [placeOf(record, gap.worst)]);
      },
      says: (m) =>
        say`On the first step policy and reference differ by ${m.mean} nat per token. ${m.sampler ? 'Unless another finding says that the policy is scored wrongly, the reference is not the model that training started from.' : 'Either the reference is another model (B51), or the policy is scored in training mode (B38); two scorings of the policy would show which: dropout makes them differ.'}`,
    }),
    logCheck({
      code: 'B51.log',
      title: 'The KL begins at 0',
      stage: 'kl',
      kind: 'identity',
      level: 3,
      rank: 6,
      threshold:
        'KL of step 1 at most 0.01 nat per token in absolute value, 0.03 for the estimate |d| unless the run is in float32; not applicable to a KL summed over each completion; only for logs of every step with one update per rollout',
      sources: ['arXiv:2402.03300', 'NVIDIA-NeMo/RL#3722'],
      why: 'Before any update the reference is the policy. In other runs the base model as reference of an SFT policy gave 1.007 and 0.46, and dropout −4 to −6.',
      remedy:
        'Score one batch by policy and reference before any update. If their weights differ, load the reference from the model that training starts with (after SFT: the SFT model). If they are equal, compare mode, mask and token ids.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B49', 'B50'],
      proofs: ['native', 'log only'],
      needs: ['kl'],
      test(log) {
        const first = klOfStepOne(log);
        if (!first) return notApplicable('the KL of step 1 in an entry of its own');
        const { estimator, level } = log.declared.kl ?? {};
        if (level === 'sequence_sum') return notApplicable('a KL per token');
        const measured = { kl: first.values.kl! };
        // An estimate without sign does not average out.
        return Math.abs(measured.kl) <= (estimator === 'abs' && !isFull(log) ? 0.03 : 0.01)
          ? pass(measured)
          : fail(measured, [{ step: first.step, values: measured }]);
      },
      says: (m) =>
        say`The KL of step 1 is ${m.kl} nats per token, before any update. Either the reference is not the model that training started from (B51), or policy and reference are scored differently (B38); two scorings of the policy would show which: dropout makes them differ.`,
    }),
  ],
};
