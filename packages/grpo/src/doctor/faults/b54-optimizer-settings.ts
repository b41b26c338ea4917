import { largest, withoutNaN } from '../../maths/moments.js';
import { median } from '../../maths/quantile.js';
import { ends, longestRun } from '../../maths/trend.js';
import { logCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { at } from '../log-view.js';
import { inform, notApplicable, pass, warn } from '../outcome.js';
import { percent, say } from '../sentence.js';

export const b54: Fault = {
  code: 'B54',
  name: 'optimizer settings',
  title: 'The learning rate or clipping is wrong, or training becomes unstable',
  checks: [
    logCheck({
      code: 'B54.rate',
      title: 'The learning rate is above 0',
      stage: 'optimizer',
      kind: 'heuristic',
      level: 7,
      rank: 3,
      threshold: 'above 0 in at least one entry',
      sources: [],
      why: 'It separates lost updates from a warm-up that never ends.',
      remedy: 'Check schedule and warm-up against the number of steps.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B52', 'B58'],
      settles: 'The learning rate that the formula of the schedule gives for each step.',
      proofs: ['native'],
      needs: ['learning_rate'],
      test(log) {
        const rates = withoutNaN(log.column('learning_rate'));
        const measured = { entries: rates.length, largest: largest(rates) };
        return measured.largest === 0 && rates.length >= 3 ? warn(measured) : pass(measured);
      },
      says: (m) => say`The learning rate is 0 in all ${m.entries} entries.`,
    }),
    logCheck({
      code: 'B54.conflict',
      title: 'Gradients of two kinds of problems do not oppose each other',
      stage: 'optimizer',
      kind: 'heuristic',
      level: 8,
      rank: 2,
      threshold: 'no three measurements in a row of grad_cosine below −0.1',
      sources: [],
      why: 'Seen in a run of two kinds of problems. That run itself counted three cosines below −0.1 as a conflict.',
      remedy:
        'Train the kinds one after the other, or lower the share of one; look for prompts that ask the same and rewards that pay the opposite.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'A run of each kind alone: its reward rises there, but not in the mixed run.',
      proofs: [],
      needs: ['grad_cosine'],
      test(log) {
        const cosines = log.column('grad_cosine');
        // Between measurements there are entries without.
        const places = [...cosines.keys()].filter((i) => !Number.isNaN(cosines[i]!));
        const { start, length } = longestRun(
          places.map((i) => cosines[i]!),
          (cosine) => cosine < -0.1,
        );
        const measured = { entries: places.length, inARow: length, least: Math.min(...withoutNaN(cosines)) };
        if (length < 3) return pass(measured);
        return warn(
          measured,
          places.slice(start, start + length).map((i) => at(log, i, 'grad_cosine', cosines[i]!)),
        );
      },
      says: (m) =>
        say`The gradients of two kinds of problems oppose each other in ${m.inARow} measurements in a row (cosine down to ${m.least}): what one learns the other unlearns.`,
    }),
    logCheck({
      code: 'B54.entropy',
      title: 'The entropy does not collapse',
      stage: 'loss',
      kind: 'heuristic',
      level: 8,
      rank: 4,
      threshold:
        'the last tenth of the entries above 2 % of the first tenth; what is low depends on task and phase, so it only informs',
      sources: ['verl-project/verl#5953'],
      why: 'Systems disagree: below 0.5 is collapse for one, 0.05 to 0.5 healthy for another.',
      remedy:
        'If the reward stands still as well, raise the temperature or clipHigh, or add an entropy bonus.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'The reward: low entropy with a high reward is a task that is learnt.',
      proofs: [],
      needs: ['entropy'],
      test(log) {
        const entropy = withoutNaN(log.column('entropy'));
        if (entropy.length < 10) return notApplicable('10 entries');
        const { first, last } = ends(entropy);
        const measured = { entries: entropy.length, first, last };
        return last < 0.02 * first ? inform(measured) : pass(measured);
      },
      says: (m) => say`The entropy fell from ${m.first} to ${m.last} nats per token.`,
    }),
    logCheck({
      code: 'B54.gradient',
      title: 'The gradient norm does not run away',
      stage: 'optimizer',
      kind: 'heuristic',
      level: 8,
      rank: 6,
      threshold:
        'from the 100th entry, or the middle of a shorter run, a moving average (10 entries) at most 5 × the median before it, in runs of 50 entries or more',
      sources: ['huggingface/trl#2980', 'modelscope/ms-swift#3136', 'huggingface/open-r1#257'],
      why: 'A rising gradient norm points at a mismatch of sampler and trainer.',
      remedy:
        'Lower the learning rate or tighten the clip; look at the KL and at the gap between sampler and trainer.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'Which term grows: policy, KL or entropy, in the records of two steps.',
      proofs: [],
      needs: ['grad_norm'],
      test(log) {
        const norms = withoutNaN(log.column('grad_norm'));
        if (norms.length < 50) return notApplicable('50 entries');
        const begin = Math.min(100, norms.length >> 1);
        const usual = median(norms.slice(0, begin).filter((norm) => norm > 0));
        let [average, worst] = [usual, 0];
        for (const norm of norms.slice(begin)) {
          average += (norm - average) / 10;
          worst = Math.max(worst, average);
        }
        const measured = { entries: norms.length, usual, worst };
        return worst > 5 * usual ? warn(measured) : pass(measured);
      },
      says: (m) => say`The gradient norm grows to ${m.worst}; its median before was ${m.usual}.`,
    }),
    logCheck({
      code: 'B54.clipped',
      title: 'The gradient is not clipped on every step',
      stage: 'optimizer',
      kind: 'heuristic',
      level: 8,
      rank: 6,
      threshold: 'norm above the declared clip in less than 95 % of 20 entries or more',
      sources: [],
      why: 'Above the clip the step is lr ÷ norm; one run had a norm of 24 against a clip of 1.',
      remedy: 'Do nothing if the run learns; else raise the clip or scale the loss down.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'A run with ten times the clip beside this one.',
      proofs: [],
      needs: ['grad_norm'],
      test(log) {
        const { maxGradNorm } = log.declared.optimizer ?? {};
        const norms = withoutNaN(log.column('grad_norm'));
        if (!maxGradNorm || norms.length < 20) return notApplicable('a declared clip, and 20 entries');
        const share = norms.filter((norm) => norm > maxGradNorm).length / norms.length;
        const measured = { entries: norms.length, clip: maxGradNorm, share };
        return share >= 0.95 ? inform(measured) : pass(measured);
      },
      says: (m) =>
        say`The gradient is clipped in ${percent(m.share)} of the steps (at ${m.clip}): the clip sets the step size.`,
    }),
  ],
};
