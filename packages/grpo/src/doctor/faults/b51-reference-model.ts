import { median } from '../../maths/quantile.js';
import { logCheck, runCheck, stepCheck } from '../check.js';
import { FALLEN } from '../course/run-course.js';
import type { Fault } from '../fault.js';
import {
  at,
  beforeUpdates,
  isOfFirstEntry,
  isOfFirstStep,
  klOfStepOne,
  measuresBefore,
} from '../log-view.js';
import { agreesWithSampler, compareFirst, hasEqualWeights, placeOf } from '../measures/first-update.js';
import { fail, inform, notApplicable, pass, warn } from '../outcome.js';
import { say } from '../sentence.js';
import { isFull, toleranceOf } from '../tolerance.js';

/** Nats per token: ten times what rounding leaves between two scorings in half precision. */
const EARLY = 0.1;
/** Learning rate × steps: the way that a weight can have gone. */
const TRAVEL = 1e-6;

/** What a run with a teacher lacks. */
const TO_START = 'a KL to the starting model: this one is to a teacher';

/** Share of the KL around it that an entry falls to, and the KL from which that shows: a log may have four decimals. */
const [FALLEN_TO, ENOUGH_KL] = [0.02, 5e-3];

/** Largest KL to the reference at step 1, as a multiple of the KL to the old policy, and the least KL that is judged. */
const [APART, SURELY] = [10, 0.05];

export const b51: Fault = {
  code: 'B51',
  name: 'reference model',
  title: 'The reference is not the intended model',
  checks: [
    logCheck({
      code: 'B51.anchor',
      title: 'The weights of the reference do not change',
      stage: 'kl',
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
      level: 3,
      rank: 5,
      threshold:
        'mean |policy − reference| within the tolerance of the precision (1e-4 nat in float32, 0.03 in half precision); not asked where the weights are equal by their checksums, or the reference agrees with the sampler: then it is the scoring that differs',
      sources: ['arXiv:2402.03300', 'NVIDIA-NeMo/RL#3722'],
      why: 'In another run the base model as reference of an SFT policy gave a KL of 1.007 at step 1.',
      remedy: 'Load the reference from the weights that training starts with.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B49', 'B50'],
      proofs: ['native'],
      needs: ['firstPolicyLogprobs', 'referenceLogprobs'],
      test({ firstPolicyLogprobs, referenceLogprobs }, record) {
        if (record.step > 1) return notApplicable('the first step of a run');
        if (record.declared?.teacher) return notApplicable(TO_START);
        const gap = compareFirst(record, firstPolicyLogprobs, referenceLogprobs);
        if (gap.tokens === 0) return notApplicable('tokens scored by both');
        const known = record.probes?.checksums !== undefined;
        const measured = { mean: gap.mean, max: gap.max, signed: gap.signed, known };
        if (gap.mean <= toleranceOf(record).mean) return pass(measured);
        if (hasEqualWeights(record)) return notApplicable('a reference with other weights than the policy');
        if (agreesWithSampler(record, referenceLogprobs))
          return notApplicable('a policy that is scored as it samples');
        return fail(measured, [placeOf(record, gap.worst)]);
      },
      says: (m) =>
        say`On the first step policy and reference differ by ${m.mean} nat per token. ${m.known ? 'Checksums of their weights differ, too: the reference is not the model that training started from.' : 'Either the reference is another model (B51), or one of the two is scored otherwise: dropout (B38), temperature (B19) or mask; checksums of both models’ weights would show which.'}`,
    }),
    runCheck({
      code: 'B51.follows',
      title: 'The reference stays where the policy began',
      stage: 'kl',
      level: 3,
      rank: 6,
      threshold:
        'reported when policy and reference give each token the same log-prob in all records after one whose update changed the weights, of which there are two or more; in half precision only where the weights that the forward pass reads are known to have changed; only informs where the policy is declared to be mixed into the reference',
      why: 'Two models that agree to the bit have the same weights. Where the reference gets those of the policy after each update, the KL holds nothing.',
      remedy:
        'Load the reference once, and copy nothing into it; where it is meant to follow, let it follow slowly and seldom.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B43', 'B62'],
      settles: 'A checksum of the reference’s weights in two steps.',
      proofs: ['native', 'TRL run'],
      needs: ['firstPolicyLogprobs', 'referenceLogprobs', 'updates'],
      see({ firstPolicyLogprobs, referenceLogprobs, updates }, record) {
        const { max, tokens } = compareFirst(record, firstPolicyLogprobs, referenceLogprobs);
        if (tokens === 0) return 'tokens scored by both';
        const moved = updates.some(
          ({ gradNorm = 0, learningRate = 0, changedShare, changedWeightShare }) =>
            gradNorm * learningRate > 0 &&
            (isFull(record) ? changedShare !== 0 : (changedWeightShare ?? 0) > 0.01),
        );
        return { isSame: max === 0, moved, isMeant: Boolean(record.declared?.kl?.referenceEvery) };
      },
      test(seen) {
        const first = seen.findIndex(({ value }) => value.moved);
        const later = first < 0 ? [] : seen.slice(first + 1);
        if (later.length < 2)
          return notApplicable('records of two steps after an update that changed the weights');
        const measured = { records: later.length, from: later[0]!.step };
        if (!later.every(({ value }) => value.isSame)) return pass(measured);
        const tell = later[0]!.value.isMeant ? inform : warn;
        return tell(
          measured,
          later.map(({ step }) => ({ step })),
        );
      },
      says: (m) =>
        say`Policy and reference are the same in all ${m.records} recorded steps from step ${m.from} on, though updates changed the policy: the reference gets the policy’s weights, and the KL holds nothing.`,
    }),
    logCheck({
      code: 'B51.log',
      title: 'The KL begins at 0',
      stage: 'kl',
      level: 3,
      rank: 6,
      threshold:
        'KL of step 1 at most 0.01 nat per token in absolute value, 0.03 for the estimate |d| unless the run is in float32; not applicable to a KL summed over each completion; only for logs of every step with one update per rollout, of a known trainer (of TRL with its epoch, and where step 1 clips nothing), or at a learning rate of 0',
      sources: ['arXiv:2402.03300', 'NVIDIA-NeMo/RL#3722'],
      why: 'Before any update the reference is the policy. In other runs the base model as reference of an SFT policy gave 1.007 and 0.46, and dropout −4 to −6.',
      remedy:
        'Score one batch by policy and reference before any update. If their weights differ, load the reference from the model that training starts with (after SFT: the SFT model). If they are equal, compare mode, mask and token ids.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B49', 'B50'],
      proofs: ['native', 'log only'],
      needs: ['kl'],
      test(log) {
        if (log.declared.teacher) return notApplicable(TO_START);
        const [still] = beforeUpdates(log);
        const isStill = still !== undefined && log.series.stepsPerEntry === 1;
        if (!isStill && !measuresBefore(log))
          return notApplicable('a trainer that is known to measure the KL before the update');
        const unmoved = isStill ? log.series.entries[still] : undefined;
        const first = unmoved?.values.kl === undefined ? klOfStepOne(log) : unmoved;
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
    logCheck({
      code: 'B51.early',
      title: 'The first entry has no KL that its updates cannot explain',
      stage: 'kl',
      level: 3,
      rank: 6,
      threshold: `KL of the first entry at most ${EARLY} nat per token, where learning rate × steps up to it is at most ${TRAVEL}; where the entry is step 1 alone B51.log judges`,
      sources: ['arXiv:2402.03300', 'NVIDIA-NeMo/RL#3722'],
      why: 'An Adam step moves a weight by about the learning rate. After 1e-6 in all, a weight of 0.02 has moved by a 20,000th, far below what bfloat16 resolves: policy and reference still agree.',
      remedy:
        'Load the reference from the model that training starts with: after SFT the SFT model, with adapters as they are, in the same precision. Score one batch by both before any update.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B49', 'B50', 'B38'],
      settles: 'The KL of one batch before any update: it must be 0. Twice the same scores rule out dropout.',
      needs: ['kl', 'learning_rate'],
      test(log) {
        if (klOfStepOne(log)) return notApplicable('a first entry of several steps');
        if (!measuresBefore(log))
          return notApplicable('a trainer that is known to make one update of a step that it logs');
        if (log.declared.kl?.level === 'sequence_sum') return notApplicable('a KL per token');
        const [first] = log.series.entries.filter(({ values }) => Number.isFinite(values.kl));
        const { stepsPerEntry } = log.series;
        const rate = first?.values.learning_rate;
        if (!first || !rate || stepsPerEntry === undefined || first.step > stepsPerEntry)
          return notApplicable('the first steps, with their learning rate');
        const measured = {
          kl: first.values.kl!,
          steps: first.step,
          rate,
          end: log.course.of('kl')?.end ?? Number.NaN,
        };
        return rate * first.step <= TRAVEL && measured.kl > EARLY
          ? warn(measured, [{ step: first.step, text: 'kl', values: { value: measured.kl } }])
          : pass(measured);
      },
      says: (m) =>
        say`The KL in the first entry is ${m.kl} nats per token, after ${m.steps} ${m.steps === 1 ? 'step' : 'steps'} at a learning rate of ${m.rate} or less, which cannot move the policy that far${Number.isFinite(m.end) ? say` (${m.end} at the end)` : ''}: the reference is not the model that training started from, or the two are scored differently.`,
    }),
    logCheck({
      code: 'B51.falls',
      title: 'The KL does not begin at its largest',
      stage: 'kl',
      level: 3,
      rank: 8,
      threshold: `reported when the first KL is above 1 nat per token and ${FALLEN} × the median of the second half of 4 entries or more, and none is above it; where the entry is step 1 alone B51.log judges. Not applicable to several updates per rollout, the later of which have a KL of their own`,
      why: 'Updates take the policy away from the reference, and β takes it back to where it was: at the start it is nearest. Seen in a run whose completions were sampled under a grammar, which neither model was scored with.',
      remedy:
        'Score one batch by policy and reference before any update: the same model, adapter, template, mask and temperature. Then sample without constraints: tokens that the policy holds impossible have a KL of any size.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B49', 'B50', 'B38', 'B54', 'B62'],
      settles: 'The KL of one batch before any update: it must be 0.',
      needs: ['kl'],
      test(log) {
        if (log.declared.teacher) return notApplicable(TO_START);
        if (log.declared.kl?.level === 'sequence_sum') return notApplicable('a KL per token');
        if (klOfStepOne(log)) return notApplicable('a first entry of several steps');
        if ((log.declared.updatesPerRollout ?? 1) > 1) return notApplicable('one update per rollout');
        const [first] = log.course.pointsOf('kl');
        const falling = log.course.fallingKl;
        if (log.course.pointsOf('kl').length < 4 || !isOfFirstEntry(log, first!.step))
          return notApplicable('4 entries from the beginning of the run');
        return falling
          ? warn(falling, [{ step: first!.step, text: 'kl', values: { value: falling.first } }])
          : pass({ first: first!.value, later: log.course.of('kl')!.end });
      },
      says: (m) =>
        say`The KL is largest in the first entry, ${m.first} nats per token, and ${m.later} later: it did not grow with the updates. Policy and reference differ from the start, or the completions are not samples of the policy.`,
    }),
    logCheck({
      code: 'B51.old',
      title: 'At step 1 the reference is as near as the old policy',
      stage: 'kl',
      level: 3,
      rank: 7,
      threshold: `in the entry of step 1, a KL to the reference of at most ${SURELY} nat, or ${APART} × the KL to the old policy`,
      sources: ['arXiv:2402.03300'],
      why: 'There the old policy is the reference: however many updates lie between, the KL to the one is that to the other.',
      remedy:
        'Score one batch by policy and reference before any update; put the reference into evaluation mode, and load it from the model that training starts with.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B49', 'B50', 'B38', 'B62'],
      settles: 'Two scorings of one batch by the reference: they differ with dropout.',
      needs: ['kl', 'kl/old'],
      test(log) {
        const first = log.series.entries.find(({ values }) => Number.isFinite(values.kl));
        const { kl = Number.NaN, 'kl/old': old = Number.NaN } = first?.values ?? {};
        if (log.declared.teacher) return notApplicable(TO_START);
        if (!first || !isOfFirstStep(log, first.step) || Number.isNaN(old))
          return notApplicable('both KLs of step 1');
        const measured = { kl, old };
        return kl > SURELY && kl > APART * Math.abs(old)
          ? warn(measured, [{ step: first.step, text: 'kl', values: { value: kl } }])
          : pass(measured);
      },
      says: (m) =>
        say`At step 1 the KL to the reference is ${m.kl} nats per token, and that to the old policy ${m.old}: there the two are the model that training starts from. Either the reference is another model, or it is scored differently, as with dropout.`,
    }),
    logCheck({
      code: 'B51.again',
      title: 'The KL does not fall back to 0',
      stage: 'kl',
      level: 3,
      rank: 7,
      threshold: `no entry with a KL of at most ${100 * FALLEN_TO} % of the median of the three before it and of the five after it, that median above ${ENOUGH_KL} nat; a single entry is not judged before the fifth; not applicable where the reference is declared to follow the policy`,
      why: 'A policy does not come back to the reference in one step by itself.',
      remedy:
        'Look for what loads weights or an adapter in the loop, and for what copies the policy into the reference. Nothing, if the reference is meant to follow.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      settles: 'A checksum of both models’ weights before and after that step.',
      proofs: ['log only'],
      needs: ['kl'],
      test(log) {
        if (log.declared.kl?.referenceEvery) return notApplicable('a reference that stays');
        const entries = log.series.entries.filter(({ values }) => Number.isFinite(values.kl));
        const kl = entries.map(({ values }) => values.kl!);
        if (kl.length < 10) return notApplicable('10 entries');
        const fallen = entries.flatMap(({ step }, i) => {
          if (i < 4 || i + 1 >= kl.length) return [];
          const usual = Math.min(median(kl.slice(i - 3, i)), median(kl.slice(i + 1, i + 6)));
          return usual > ENOUGH_KL && Math.abs(kl[i]!) <= FALLEN_TO * usual
            ? [{ step, text: 'kl', values: { value: kl[i]! } }]
            : [];
        });
        const measured = { entries: kl.length, times: fallen.length, step: fallen[0]?.step ?? 0 };
        return fallen.length > 0 ? warn(measured, fallen) : pass(measured);
      },
      says: (m) =>
        say`The KL falls back to 0 at step ${m.step}${m.times > 1 ? say` and ${m.times - 1} times more` : ''}, and grows again: either the policy was loaded from its first weights, and what it had learnt is lost, or the reference was replaced by the policy.`,
    }),
  ],
};
