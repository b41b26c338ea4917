import { largest, withoutNaN } from '../../maths/moments.js';
import { median } from '../../maths/quantile.js';
import { longestRun } from '../../maths/trend.js';
import { logCheck } from '../check.js';
import type { Fault } from '../fault.js';
import type { LogView } from '../log-view.js';
import { type Evidence, fail, notApplicable, pass, warn } from '../outcome.js';
import { nextBeta } from '../recompute/beta.js';
import { say } from '../sentence.js';

export const b50: Fault = {
  code: 'B50',
  name: 'beta control',
  title: 'The β controller has no effect',
  checks: [
    logCheck({
      code: 'B50.log',
      title: 'An adaptive β follows the KL',
      stage: 'kl',
      level: 6,
      rank: 10,
      threshold:
        'β changes within 50 entries after its warm-up in which the KL stays on one side of its declared target by a quarter or more and no bound holds β; judged per kind of problem',
      why: 'Seen in a controller that compared β × KL with the target, and in one whose β was never read.',
      remedy:
        'Log what the controller compares, and set β to 10 for one step: the KL term of the loss must change with it.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'The controller’s input beside the logged KL, and the β that the loss used.',
      needs: ['kl'],
      test(log) {
        const { control, target } = log.declared.kl ?? {};
        if (control === 'fixed' || !target) return notApplicable('a declared target of the KL');
        const weights = weightsIn(log);
        if (weights.length === 0) return notApplicable('beta');
        const runs = weights.map((weight) => stuckIn(log, weight));
        const stuck = largest(runs);
        const kl = log.column('kl');
        const measured = { entries: withoutNaN(kl).length, target, median: median(kl), stuck };
        return stuck >= 50 ? warn(measured) : pass(measured);
      },
      says: (m) =>
        say`β did not change in ${m.stuck} entries in a row, while the KL missed its target of ${m.target} (median ${m.median}).`,
    }),
    logCheck({
      code: 'B50.control',
      title: 'β follows from the KL as the declared control says',
      stage: 'kl',
      level: 6,
      rank: 10,
      threshold:
        'each β within a relative 1e-6 of what the declared control computes from the β before and the KL (not β × KL), after the warm-up; only for logs of every step, judged per kind of problem',
      why: 'Seen in a controller that compared β × KL with the target.',
      remedy:
        'Where the first such step follows a resume, save and load what the control knows. Else log its input, the KL of the declared window without its weight: β × KL falls with β, and never settles.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      proofs: ['native'],
      needs: ['kl'],
      test(log) {
        const { control = 'fixed' } = log.declared.kl ?? {};
        if (control === 'fixed') return notApplicable('a declared control of β');
        if (log.series.stepsPerEntry !== 1) return notApplicable('a log of every step (logging_steps 1)');
        const judged = weightsIn(log).flatMap((weight) => followed(log, weight));
        if (judged.length === 0) return notApplicable('a β after one that could move');
        const off = judged.filter(({ beta, expected }) => !(Math.abs(beta - expected) <= 1e-6 * expected));
        const [first] = off;
        const measured = {
          entries: judged.length,
          off: off.length,
          ...(first && { kl: first.kl, beta: first.beta, expected: first.expected }),
        };
        const evidence = off.map(({ step, ...values }): Evidence => ({ step, values }));
        return off.length > 0 ? fail(measured, evidence) : pass(measured);
      },
      says: (m) => say`β is ${m.beta} after a KL of ${m.kl}; the declared control gives ${m.expected}.`,
    }),
  ],
};

/** A β and the KL that it is the weight of, entry by entry. */
interface Weight {
  beta: Float64Array;
  kl: Float64Array;
}

/** The one of all completions, or one of each kind. */
const weightsIn = (log: LogView): Weight[] =>
  log
    .names(/^beta(\/|$)/)
    .map((name) => ({ beta: log.column(name), kl: log.column(name.replace('beta', 'kl')) }));

/** Each β that followed a step, beside what the control makes of that step. */
function followed(log: LogView, { beta, kl }: Weight) {
  const declared = log.declared.kl ?? {};
  const { window = 1, warmupSteps = 0 } = declared;
  // A kind that a step has no problem of keeps its β; during the warm-up it cannot move.
  const entries = [...beta.keys()].filter((i) => !Number.isNaN(beta[i]!) && log.steps[i]! > warmupSteps);
  const isWhole = log.steps.every((step, i) => i === 0 || step === log.steps[i - 1]! + 1);
  // Which KLs came before is known from the first of them on, or when the window is full of others.
  const isBegun = log.steps[0]! <= warmupSteps + 1;
  const recent: number[] = [];
  return entries.flatMap((i, n) => {
    if (!Number.isNaN(kl[i]!)) recent.push(kl[i]!);
    const next = entries[n + 1];
    const isKnown = isBegun || recent.length >= window;
    if (next === undefined || !isWhole || !isKnown) return [];
    const used = recent.slice(-window);
    const expected = Number.isNaN(kl[i]!) ? beta[i]! : nextBeta(beta[i]!, median(used), declared);
    return [{ step: log.steps[next]!, kl: median(used), beta: beta[next]!, expected }];
  });
}

/** The longest run of entries in which β stays although the KL is off its target, and nothing holds it. */
function stuckIn(log: LogView, { beta, kl }: Weight): number {
  const { target = 0, least = 0, most = Infinity, warmupSteps = 0 } = log.declared.kl ?? {};
  const isHeld = (i: number, side: number) =>
    log.steps[i]! <= warmupSteps || (side > 0 ? beta[i]! >= most : beta[i]! <= least);
  const stuckOn = (side: number) => {
    const outside = Array.from(kl, (value, i) =>
      Number(
        side * (value - target) > 0.25 * target && !isHeld(i, side) && (i === 0 || beta[i] === beta[i - 1]),
      ),
    );
    return longestRun(outside, (yes) => yes === 1).length;
  };
  return Math.max(stuckOn(-1), stuckOn(1));
}
