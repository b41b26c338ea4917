import { largest, mean } from '../../maths/moments.js';
import { median } from '../../maths/quantile.js';
import { logCheck, runCheck, stepCheck } from '../check.js';
import { datedOf, whenText } from '../course/movements.js';
import { BEYOND_NOISE, METRICS } from '../course/run-course.js';
import type { Fault } from '../fault.js';
import { at, entryAt } from '../log-view.js';
import { compareFirst } from '../measures/first-update.js';
import { hasPenalties, truncates } from '../measures/sampling.js';
import { hasEqualChecksums, probesOf, weightsOf } from '../measures/weight-probe.js';
import { fail, notApplicable, pass, warn } from '../outcome.js';
import { say } from '../sentence.js';
import { toleranceOf } from '../tolerance.js';

/** Nat per token: more than two engines in half precision differ by. */
const APART = 0.05;
/** The same as a KL, which is about half of the square of the differences. */
const APART_KL = 0.01;

/** Nats per token at which the policy is another model, and at which it is near to the reference. */
const [LEFT, NEAR] = [5, 0.5];

export const b55: Fault = {
  code: 'B55',
  name: 'stale sampler',
  title: 'The sampler has stale weights',
  left: 'live model',
  checks: [
    stepCheck({
      code: 'B55.probe',
      title: 'A server has the weights that were handed over',
      stage: 'weight sync',
      level: 1,
      rank: 8,
      threshold:
        'a server answers with the version and the checksum that it was given, and its log-probs of the probe’s completion, after its cache was emptied, are the trainer’s with the new weights: within the bound of the number types, and nearer to them than to those with the old weights where the two lie 16 standard errors apart; where they lie closer, only an equal checksum passes',
      sources: ['verl-project/verl#7495', 'modelscope/ms-swift#6343', 'huggingface/trl#6007'],
      why: 'New weights or adapters do not reach the sampler.',
      remedy:
        'Look at what the server answered when the weights were handed over, and whether it reads them from the same folder. Restart it if it keeps old ones.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B19', 'B35', 'B38', 'B39', 'B40', 'B65', 'B66'],
      proofs: ['native'],
      needs: ['servers'],
      test(_, record) {
        const judged = probesOf(record).map(({ name, probe }) => {
          const { expected, answered, previous = 'unknown' } = probe;
          const cold = weightsOf(probe);
          const hasOthers = answered !== expected || hasEqualChecksums(probe) === false;
          const weights = hasOthers && cold.weights !== 'stale' ? ('other' as const) : cold.weights;
          return { probe, measured: { ...cold, weights, server: name, expected, answered, previous } };
        });
        const wrong = judged.find(({ measured: { weights } }) => weights === 'stale' || weights === 'other');
        if (wrong) return fail(wrong.measured);
        const isSure = judged.every(
          ({ probe, measured }) => measured.weights === 'current' || hasEqualChecksums(probe),
        );
        return judged.length > 0 && isSure
          ? pass({
              servers: judged.length,
              distance: Math.max(...judged.map(({ measured }) => measured.distance)),
            })
          : notApplicable('a probe of an update that is large enough to tell old weights from new ones');
      },
      says: (m) =>
        m.weights === 'stale'
          ? say`${m.server} has stale weights: it was given ${m.expected}, answers as ${m.answered}, and scores as ${m.previous} did. Its log-probs are ${m.distance} nats off the trainer’s (root mean square), of which the update is ${m.apart}.`
          : say`${m.server} does not have the weights ${m.expected}: it answers as ${m.answered}, and its log-probs are ${m.distance} nats off the trainer’s (root mean square); rounding explains ${m.bound}. They are not those of ${m.previous} either.`,
    }),
    logCheck({
      code: 'B55.checksum',
      title: 'The sampler has the weights that the step before left',
      stage: 'weight sync',
      level: 1,
      rank: 9,
      threshold:
        'the checksum of the weights that sampled is that of the policy in the entry of the step before; entries of steps that follow each other',
      sources: ['verl-project/verl#7495', 'modelscope/ms-swift#6343', 'huggingface/trl#6007'],
      why: 'New weights or adapters do not reach the sampler, or its cache is stale.',
      remedy:
        'Look at what hands weights to the sampler after an update, and at what may change them before the next step.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B19', 'B35', 'B38', 'B39', 'B40'],
      proofs: ['native'],
      needs: ['checksum/sampler', 'checksum/policy'],
      test(log) {
        const [sampler, policy] = [log.column('checksum/sampler'), log.column('checksum/policy')];
        const { steps } = log;
        const pairs = steps.flatMap((step, i) =>
          i > 0 && step === steps[i - 1]! + 1 && !Number.isNaN(sampler[i]! + policy[i - 1]!) ? [i] : [],
        );
        if (pairs.length === 0) return notApplicable('entries of two steps that follow each other');
        const apart = pairs.filter((i) => sampler[i] !== policy[i - 1]);
        const measured = { entries: pairs.length, apart: apart.length };
        const evidence = apart.map((i) => at(log, i, 'checksum/sampler', sampler[i]!));
        return apart.length > 0 ? fail(measured, evidence) : pass(measured);
      },
      says: (m) =>
        say`In ${m.apart} of ${m.entries} steps the sampler did not have the weights that the step before left.`,
    }),
    runCheck({
      code: 'B55.stale',
      title: 'The sampler has the weights that are trained',
      stage: 'weight sync',
      level: 3,
      rank: 1,
      threshold:
        'reported when sampler and trainer agree on step 1 within the tolerance of the precision, and most later records differ by more than that and by more than ten times the gap of step 1',
      sources: ['verl-project/verl#7495', 'modelscope/ms-swift#6343', 'huggingface/trl#6007'],
      why: 'New weights or adapters do not reach the sampler, or its cache is stale.',
      remedy: 'Compare a checksum of weights on both sides after an update, and empty the prefix cache.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B19', 'B35', 'B38', 'B39', 'B40'],
      settles:
        'Decode eight prompts greedily with the sampler and with the trainer’s weights: equal texts mean equal weights.',
      proofs: ['native'],
      needs: ['firstPolicyLogprobs', 'comparableLogprobs'],
      see({ firstPolicyLogprobs, comparableLogprobs }, record) {
        const gap = compareFirst(record, firstPolicyLogprobs, comparableLogprobs);
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
      says: (m) =>
        say`Sampler and trainer agreed on step 1 (${m.first} nat per token) and differ by ${m.later} later: the sampler does not have the trained weights.`,
    }),
    logCheck({
      code: 'B55.returns',
      title: 'The KL does not leave and come back in an entry',
      stage: 'weight sync',
      level: 3,
      rank: 7,
      threshold: `reported when two entries or more, and a tenth of all, have a KL above ${LEFT} nats per token while both neighbours are below ${NEAR}`,
      why: 'Weights that took the policy that far do not come back in the next update. Seen in a run whose sampler got the weights on every third step only.',
      remedy:
        'Give the sampler the weights before each rollout, and take log-probs and samples from the same ones. Look at which steps have the spikes: those without a sync, those after an evaluation.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B49', 'B54'],
      settles:
        'A checksum of the sampler’s weights at a step with a spike. A few tokens that the reference holds impossible give k3 such spikes, too: the record of the step shows them.',
      needs: ['kl'],
      test(log) {
        if (log.declared.kl?.level === 'sequence_sum') return notApplicable('a KL per token');
        const points = log.course.pointsOf('kl');
        if (points.length < 5) return notApplicable('5 entries');
        const near = (i: number) => points[i] === undefined || points[i].value < NEAR;
        const spikes = points.filter(({ value }, i) => value > LEFT && near(i - 1) && near(i + 1));
        const measured = {
          entries: points.length,
          spikes: spikes.length,
          most: largest(points.map(({ value }) => value)),
          median: median(points.map(({ value }) => value)),
        };
        return spikes.length >= Math.max(2, points.length / 10)
          ? warn(
              measured,
              spikes.map(({ step, value }) => ({ step, text: 'kl', values: { value } })),
            )
          : pass(measured);
      },
      says: (m) =>
        say`The KL jumps in ${m.spikes} of ${m.entries} entries (up to ${m.most} nats per token), and is back in the next one (median ${m.median}): the policy did not go there. Those steps were sampled or scored with other weights, such as old ones of a sampler.`,
    }),
    logCheck({
      code: 'B55.log',
      title: 'Sampler and trainer do not drift apart',
      stage: 'weight sync',
      level: 3,
      rank: 6,
      threshold: `reported when the gap of the last eighth of 20 entries or more is above ${APART} nat per token (or where the log has a KL of sampler and trainer instead, that of 12 entries or more above ${APART_KL}), 3 × that of the first and beyond its noise, and the entropy did not grow by half as much; not applicable where sampling is declared to differ from scoring (penalties; top-p, top-k, min-p without keepSupport)`,
      sources: ['verl-project/verl#7495', 'modelscope/ms-swift#6343', 'huggingface/trl#6007'],
      why: 'Two engines differ by 0.01 to 0.02 nat per token, and by more where the entropy is higher: unsure tokens differ most. Old weights leave a gap that grows with every update.',
      remedy: 'Compare a checksum of weights on both sides after an update, and empty the prefix cache.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B39', 'B40', 'B54'],
      settles:
        'Both log-probs of a completion of step 1 and of a late one: a gap from the start on does not come from the weights.',
      proofs: ['native'],
      needs: [],
      test(log) {
        const { rollout = {} } = log.declared;
        if (hasPenalties(rollout) || (truncates(rollout) && !rollout.keepSupport))
          return notApplicable('sampling from the distribution that is scored');
        const quantity = log.course.of('gap') ? 'gap' : 'mismatch';
        const gap = log.course.of(quantity);
        const [least, fewest] = quantity === 'gap' ? [APART, 20] : [APART_KL, 12];
        if (!gap) return notApplicable('sampling/sampling_logp_difference/mean, or sampling/kl');
        if (gap.points.length < fewest) return notApplicable(`${fewest} entries`);
        const { from: first, to: last, step, beyond } = gap.shift;
        const measured = { first, last, ...datedOf(gap.shift) };
        const entropy = log.course.of('entropy')?.shift;
        const isUnsure = entropy !== undefined && entropy.to / entropy.from > last / first / 2;
        const isApart = last > least && last > 3 * first && beyond >= BEYOND_NOISE;
        return isApart && !isUnsure && !log.course.collapse
          ? warn(measured, [entryAt(log, METRICS[quantity].name, step)])
          : pass(measured);
      },
      says: (m) =>
        say`The gap between sampler and trainer grows from ${m.first} to ${m.last} nat per token (${m.isDrift ? whenText(m) : say`step ${m.step}`}), and the entropy does not explain it: perhaps the trained weights do not reach the sampler.`,
    }),
  ],
};
