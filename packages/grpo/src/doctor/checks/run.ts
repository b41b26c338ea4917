/** Several steps of a run, by their records. */
import { runCheck } from '../check.js';
import { compareFirst } from '../first-update.js';
import { fail, inform, notApplicable, pass, warn } from '../outcome.js';
import { mean } from '../statistics.js';
import { toleranceOf } from '../tolerance.js';
import { slope } from '../trend.js';

export const runChecks = [
  runCheck({
    code: 'B55.stale',
    title: 'The sampler has the weights that are trained',
    stage: 'weight sync',
    kind: 'heuristic',
    level: 3,
    threshold:
      'not: on step 1 sampler and trainer agree within the tolerance of the precision, and later they are ten times as far apart and beyond it',
    source: 'verl#7495, ms-swift#6343, trl#6007: weights, adapter or cache that do not arrive',
    remedy: 'Compare a checksum of weights on both sides after an update, and empty the prefix cache.',
    consequence: { rerun: 'GRPO', checkpointsVoid: false },
    induces: ['B19', 'B35', 'B38', 'B39', 'B40'],
    settles:
      'Eight prompts, greedily, by the sampler and by the trainer’s weights: equal texts are equal weights.',
    needs: ['firstPolicyLogprobs', 'samplerLogprobs'],
    see({ firstPolicyLogprobs, samplerLogprobs }, record) {
      const gap = compareFirst(record, firstPolicyLogprobs, samplerLogprobs);
      return gap.tokens > 0
        ? { gap: gap.mean, tolerance: toleranceOf(record).mean }
        : 'tokens scored in the sampled length';
    },
    test(seen) {
      const [first, ...later] = seen;
      if (first!.step > 1) return notApplicable('the record of step 1');
      const { gap, tolerance } = first!.value;
      const measured = { first: gap, later: mean(later.map(({ value }) => value.gap)), tolerance };
      const stale = later.filter(({ value }) => value.gap > Math.max(tolerance, 10 * gap));
      return gap <= tolerance && stale.length > later.length / 2
        ? warn(
            measured,
            stale.map(({ step, value }) => ({ step, values: { gap: value.gap } })),
          )
        : pass(measured);
    },
  }),
  runCheck({
    code: 'B51.anchor',
    title: 'The reference stays what it is',
    stage: 'kl',
    kind: 'identity',
    level: 3,
    threshold: 'one checksum of its weights over the run, unless the policy is declared to be mixed into it',
    source: 'identity; NeMo-RL#3722, unsloth-zoo#832: made anew from the current weights on resuming',
    remedy: 'Load the reference from where the run began, and never from the last checkpoint.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    induces: ['B49', 'B50'],
    needs: ['probes'],
    see({ probes: { referenceChecksum } }, { declared }) {
      if (declared?.referenceEvery) return 'a reference that stays: declared.referenceEvery moves it';
      return referenceChecksum === undefined ? 'probes.referenceChecksum' : { referenceChecksum };
    },
    test(seen) {
      const moved = seen.filter(
        ({ value }, i) => i > 0 && value.referenceChecksum !== seen[i - 1]!.value.referenceChecksum,
      );
      const measured = { records: seen.length, changes: moved.length };
      return moved.length > 0
        ? fail(
            measured,
            moved.map(({ step }) => ({ step })),
          )
        : pass(measured);
    },
  }),
  runCheck({
    code: 'B60.memory',
    title: 'Memory does not grow from step to step',
    stage: 'performance',
    kind: 'heuristic',
    level: 8,
    threshold:
      'the largest stage rises by at most 1 % of its mean a step (t > 4), over 5 records and 20 steps or more',
    source: 'seed 003: a graph kept alive, 3869 MB instead of 434; proposal',
    remedy:
      'Look for tensors with a graph that outlive the step: losses that are summed up, outputs that are kept.',
    consequence: { rerun: 'nothing', checkpointsVoid: false },
    settles: 'The number of live tensors after each of three steps.',
    needs: ['stages'],
    see({ stages }) {
      const sizes = stages.flatMap(({ bytes }) => bytes ?? []);
      return sizes.length > 0 ? { bytes: Math.max(...sizes) } : 'stages.bytes';
    },
    test(seen) {
      const span = seen.at(-1)!.step - seen[0]!.step;
      if (seen.length < 5 || span < 20) return notApplicable('5 records of 20 steps');
      const sizes = seen.map(({ value }) => value.bytes);
      const { slope: rise, t } = slope(
        sizes,
        seen.map(({ step }) => step),
      );
      const measured = {
        records: seen.length,
        first: sizes[0]!,
        last: sizes.at(-1)!,
        aStep: rise / mean(sizes),
      };
      return measured.aStep > 0.01 && t > 4 ? inform(measured) : pass(measured);
    },
  }),
];
