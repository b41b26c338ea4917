import { smallest, withoutNaN } from '../../maths/moments.js';
import { median } from '../../maths/quantile.js';
import { logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { inputs } from '../inputs.js';
import {
  at,
  beforeUpdates,
  klOfStepOne,
  type LogView,
  measuresBefore,
  unmoved,
  valuesAt,
} from '../log-view.js';
import {
  agreesWithSampler,
  compareFirst,
  hasEqualWeights,
  ofFirstUpdate,
  placeOf,
} from '../measures/first-update.js';
import { type Evidence, fail, inform, notApplicable, pass, warn } from '../outcome.js';
import { isNonnegative } from '../recompute/kl.js';
import { quote, say } from '../sentence.js';
import { explains, isFull, repeatBound, toleranceOf } from '../tolerance.js';

/** A total this near 0 is that of certain text, and may well repeat. */
const CERTAIN = 10;
/** Totals of the policy on what it sampled, beside the reference's. */
const TIMES = 2;

/** Nats per token that no pretrained model has on its own samples, that is noise in one entry, and that no vocabulary allows. */
const [LOST, NOISE, UNIFORM] = [5, 8, 13];

/** Nats per token by which the median of k1 may be negative, and fewest entries that warn of more. */
const [CHANCE, FEWEST_NEGATIVE] = [0.1, 2];

export const b38: Fault = {
  code: 'B38',
  name: 'scoring mode',
  title: 'The policy is scored with dropout',
  checks: [
    stepCheck({
      code: 'B38.repeat',
      title: 'Scoring twice with the same weights gives the same log-probs',
      stage: 'logprob',
      // Noise in the model is in its samples, too.
      level: 2,
      rank: 4,
      threshold: 'largest difference ≤ 1e-4 in float32, ≤ 0.05 in half precision',
      sources: ['huggingface/trl#3500', 'huggingface/trl#3234', 'parity/trl_faults.py'],
      remedy: 'Put the policy into evaluation mode for scoring, or set its dropout to 0.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B13', 'B19', 'B39', 'B49', 'B51', 'B55', 'H02'],
      proofs: ['native', 'TRL run'],
      needs: ['probes'],
      test({ probes: { repeatedScoring } }, record) {
        if (!repeatedScoring?.tokens) return notApplicable('probes.repeatedScoring');
        const bound = repeatBound(record);
        const { mean, max, tokens } = repeatedScoring;
        const measured = { mean, max, tokens, bound };
        return max <= bound ? pass(measured) : fail(measured);
      },
      says: (m) =>
        say`Two scorings with the same weights differ by up to ${m.max} (mean ${m.mean}): dropout, or another source of randomness, is active.`,
    }),
    stepCheck({
      code: 'B38.dropout',
      title: 'No dropout is active while the policy is scored',
      stage: 'logprob',
      level: 3,
      rank: 4,
      threshold: 'no module with p > 0 in training mode',
      sources: ['huggingface/trl#3500', 'huggingface/trl#3234'],
      remedy: 'Set disable_dropout, or the model’s dropout probabilities to 0.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B13', 'B19', 'B39', 'B49', 'B51', 'B55'],
      settles: 'Two scorings of one batch: they must be equal.',
      needs: ['declared'],
      test({ declared: { activeDropout } }) {
        if (!activeDropout) return notApplicable('declared.activeDropout');
        const measured = { modules: activeDropout.length, first: activeDropout[0] ?? '' };
        return activeDropout.length > 0 ? warn(measured) : pass(measured);
      },
      says: (m) =>
        say`${m.modules} dropout modules were in training mode while the policy was scored; the first is ${quote(m.first)}.`,
    }),
    stepCheck({
      code: 'B38.policy',
      title: 'Before the first update the policy equals the reference',
      stage: 'logprob',
      level: 3,
      rank: 5,
      threshold:
        'where the reference agrees with the sampler on step 1, the policy does too, within the tolerance of the precision',
      sources: ['huggingface/trl#3500', 'huggingface/trl#3234'],
      why: 'Another run had log-probs of −440 against −45 with equal weights.',
      remedy: 'Score the policy in evaluation mode, with the same mask and positions as the reference.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B19', 'B39', 'B49', 'B51'],
      proofs: ['native'],
      needs: ['firstPolicyLogprobs', 'referenceLogprobs', 'comparableLogprobs'],
      test({ firstPolicyLogprobs, referenceLogprobs, comparableLogprobs }, record) {
        if (record.step > 1) return notApplicable('the first step of a run');
        const reference = compareFirst(record, ofFirstUpdate(record, referenceLogprobs), comparableLogprobs);
        const policy = compareFirst(record, firstPolicyLogprobs, comparableLogprobs);
        const tolerance = toleranceOf(record);
        if (!(reference.mean <= tolerance.mean))
          return notApplicable('a reference that agrees with the sampler');
        const measured = { policyGap: policy.mean, referenceGap: reference.mean, tolerance: tolerance.mean };
        if (policy.mean <= tolerance.mean) return pass(measured);
        return explains(reference.mean, policy.mean, tolerance)
          ? fail(measured, [placeOf(record, policy.worst)])
          : notApplicable('a reference that agrees clearly better');
      },
      says: (m) =>
        say`The reference agrees with the sampler (${m.referenceGap} nat per token); the policy with the same weights does not (${m.policyGap}). The policy is scored differently; dropout in training mode has that effect.`,
    }),
    stepCheck({
      code: 'B38.old',
      title: 'Before the first update the old log-probs are the policy’s',
      stage: 'logprob',
      level: 3,
      rank: 4,
      threshold:
        'mean |policy − old| at the first update within the tolerance of the precision, where the trainer computed the old log-probs: they are not the sampler’s',
      sources: ['huggingface/trl#3500'],
      why: 'Both are of the same weights, so that only the way of scoring can differ.',
      remedy:
        'Score old and new log-probs alike: the same mode (dropout off), precision, temperature, mask, positions and ids. Look for what leaves the model in training mode, such as an evaluation.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B13', 'B19', 'B39', 'B49', 'B51', 'B54', 'B55', 'H05'],
      proofs: ['native', 'PyTorch loop'],
      needs: ['firstPolicyLogprobs', 'oldLogprobs'],
      test({ firstPolicyLogprobs, oldLogprobs }, record) {
        const sampler = inputs.samplerLogprobs.from(record);
        const drawn = inputs.sampledLogprobs.from(record);
        // Half precision rounds what it copies.
        const share = isFull(record) ? 0 : 2 ** -7;
        const isCopy = [sampler, drawn].some((rows) => rows && areEqual(rows, oldLogprobs, share));
        if (isCopy || record.declared?.objective?.oldLogprobs === 'sampler')
          return notApplicable('old log-probs that are not the sampler’s');
        const gap = compareFirst(record, firstPolicyLogprobs, oldLogprobs);
        if (gap.tokens === 0) return notApplicable('tokens scored by both');
        const measured = { mean: gap.mean, max: gap.max };
        return gap.mean <= toleranceOf(record).mean
          ? pass(measured)
          : fail(measured, [placeOf(record, gap.worst)]);
      },
      says: (m) =>
        say`Before the first update old and new log-probs differ by ${m.mean} nat per token, ${m.max} at most, though both are of the same weights: one of them was scored otherwise, as with dropout.`,
    }),
    stepCheck({
      code: 'B38.reference',
      title: 'A reference with the policy’s weights scores as the policy does',
      stage: 'logprob',
      level: 3,
      rank: 5,
      threshold:
        'where the checksums of both models’ weights are equal: mean |policy − reference| within the tolerance of the precision',
      sources: ['huggingface/trl#3500', 'huggingface/trl#3029'],
      why: 'Equal weights give equal log-probs, if mode, temperature, mask and ids are the same.',
      remedy:
        'Score both with the same function: evaluation mode, the same temperature, mask, positions and ids. The weights are right.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B19', 'B39', 'B48', 'B49', 'B50', 'B51', 'H05'],
      proofs: ['native'],
      needs: ['firstPolicyLogprobs', 'referenceLogprobs', 'probes'],
      test({ firstPolicyLogprobs, referenceLogprobs, probes }, record) {
        if (!probes.checksums) return notApplicable('probes.checksums');
        if (!hasEqualWeights(record)) return notApplicable('a policy with the weights of the reference');
        const gap = compareFirst(record, firstPolicyLogprobs, referenceLogprobs);
        if (gap.tokens === 0) return notApplicable('tokens scored by both');
        const sampler = inputs.comparableLogprobs.from(record);
        const measured = {
          mean: gap.mean,
          max: gap.max,
          side: !sampler ? '' : agreesWithSampler(record, referenceLogprobs) ? 'policy' : 'reference',
        };
        return gap.mean <= toleranceOf(record).mean
          ? pass(measured)
          : fail(measured, [placeOf(record, gap.worst)]);
      },
      says: (m) =>
        say`Policy and reference have the same weights, and score the same tokens ${m.mean} nat apart: ${m.side === '' ? 'one of them' : m.side === 'policy' ? 'the reference agrees with the sampler, so the policy' : 'the reference'} is scored otherwise, as with dropout, another temperature or another mask.`,
    }),
    logCheck({
      code: 'B38.likelihood',
      title: 'Completions of the policy are likelier under the policy than under the reference',
      stage: 'logprob',
      level: 3,
      rank: 6,
      threshold: `reported when the policy’s totals are below ${TIMES} × the reference’s at the first entry: E[log π − log q] over samples of π is not negative, whatever q is; a low temperature may shift this a little`,
      sources: ['huggingface/trl#3500'],
      why: 'Gibbs’ inequality. Another run had −440 against −45 at step 1 with equal weights.',
      remedy:
        'Put the policy into evaluation mode for scoring, or set its dropout to 0; then compare masks and token ids.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B39', 'B48', 'B49', 'B50', 'B51', 'B42', 'B54'],
      settles:
        'Two scorings of the policy: they differ with dropout; if they are equal, compare mask and tokens.',
      proofs: ['log only'],
      needs: ['sequence_logprob', 'sequence_logprob_reference'],
      exactLogprobs: true,
      test(log) {
        const [policy, reference] = [
          log.column('sequence_logprob'),
          log.column('sequence_logprob_reference'),
        ];
        const first = policy.findIndex((value, i) => !Number.isNaN(value + reference[i]!));
        const measured = {
          step: log.steps[first]!,
          policy: policy[first]!,
          reference: reference[first]!,
          entries: withoutNaN(policy).length,
        };
        if (policy[first]! >= TIMES * reference[first]! - CERTAIN) return pass(measured);
        return warn(measured, [valuesAt(log, first, ['sequence_logprob', 'sequence_logprob_reference'])]);
      },
      says: (m) =>
        say`At step ${m.step} the policy gives its own completions ${m.policy} nats, the reference ${m.reference}. On average no model gives samples a higher log-prob than the model that sampled them: the policy is not scored as it samples. Dropout in training mode has that effect.`,
    }),
    logCheck({
      code: 'B38.entropy',
      title: 'The entropy is that of a language model',
      stage: 'logprob',
      level: 3,
      rank: 8,
      threshold: `reported when the entropy is above ${LOST} nats per token in each of 3 entries or more, or above ${NOISE} in each of fewer; one above ${UNIFORM}, more than a vocabulary allows, is a sum over tokens and is not judged. Not applicable to runs of ours and step records, which hold the pass to another one`,
      why: 'Pretrained models have 0.1 to 2 nats per token on what they sample. Seen at 6.35, in a training pass that hid nine tenths of the activations.',
      remedy:
        'Score a sentence of plain text with the training pass and with the model as it is loaded for inference: the log-probs must agree. Look at weights that were not loaded, at masks, positions, attention and number type.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B09', 'B16', 'B39', 'B54', 'B62'],
      settles:
        'The log-probs of one completion by the training pass and by the sampler. An untrained model is as unsure in both.',
      needs: ['entropy'],
      test(log) {
        const entropy = withoutNaN(log.column('entropy'));
        if (log.isEstimated) return notApplicable('an entropy of next tokens');
        // Audits and second scorings judge that pass, and tiny models of ours begin with random weights.
        if (['grpo', 'step records'].includes(log.series.producer.name))
          return notApplicable('a log of metrics alone');
        const measured = { entries: entropy.length, least: smallest(entropy), median: median(entropy) };
        if (entropy.length < 3 && measured.least <= NOISE) return notApplicable('3 entries');
        if (measured.least <= LOST) return pass(measured);
        return measured.least > UNIFORM ? notApplicable('an entropy per token') : warn(measured);
      },
      says: (m) =>
        say`The entropy is ${m.least} nats per token or more in each entry (${m.entries} in all, median ${m.median}): as if each token were drawn from ${Math.round(Math.exp(m.median))} equally likely ones. Either the model is untrained, or the pass that trains does not compute what the sampler does.`,
    }),
    logCheck({
      code: 'B38.log',
      title: 'The KL is not negative on average',
      stage: 'logprob',
      level: 3,
      rank: 6,
      threshold: `median of the entries at least −${CHANCE} nat per token, of one entry it only informs; single values of k1 may be negative, their mean over samples of the policy may not`,
      sources: ['huggingface/trl#3500'],
      why: 'Gibbs’ inequality. Another run had −4 to −6 nats per token in every step.',
      remedy:
        'Put the policy into evaluation mode for scoring; then compare masks and positions of the two passes.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B39', 'B48', 'B49', 'B50', 'B51', 'B42'],
      settles:
        'Two scorings of the policy: they differ with dropout; if they are equal, compare mask and tokens.',
      proofs: ['log only'],
      needs: ['kl'],
      exactLogprobs: true,
      test(log) {
        if (isNonnegative(log.declared.kl?.estimator))
          return notApplicable('an estimate that may be negative: B49.log judges the others');
        if (log.declared.kl?.level === 'sequence_sum') return notApplicable('a KL per token');
        const kl = withoutNaN(log.column('kl'));
        const measured = { entries: kl.length, first: kl[0]!, last: kl.at(-1)!, median: median(kl) };
        if (measured.median >= -CHANCE) return pass(measured);
        return (kl.length < FEWEST_NEGATIVE ? inform : warn)(measured, [
          klAt(log, (kl) => kl.findIndex((value) => value <= measured.median)),
        ]);
      },
      ranges: () => [{ metric: 'kl', low: -CHANCE }],
      says: (m) =>
        say`The KL is negative ${m.entries === 1 ? 'in the one entry' : 'throughout'} (median ${m.median} nats per token). A mean over samples of the policy cannot be negative: the policy is not scored as it samples. Dropout in training mode has that effect.`,
    }),
    logCheck({
      code: 'B38.constant',
      title: 'A large KL changes over the run',
      stage: 'logprob',
      level: 3,
      rank: 6,
      threshold:
        'reported when the KL is above 1 nat per token from the first entry on and stands still over 5 entries or more: its first and last eighth within 10 %, nine tenths of it within 20 % of the median; if the log has the KL of step 1, B51.log judges instead',
      sources: ['huggingface/trl#3500'],
      why: 'Another run had about 11 nats per token for 1000 steps.',
      remedy: 'Score the first batch by policy and reference before any update: the KL must be 0.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B49', 'B50'],
      settles:
        'Two scorings of the policy: they differ with dropout (B38); if they are equal, the reference is another model (B51).',
      proofs: ['log only'],
      needs: ['kl'],
      test(log) {
        if (klOfStepOne(log))
          return notApplicable('a log that begins later: B51.log judges the KL of step 1');
        const kl = withoutNaN(log.column('kl'));
        if (kl.length < 5) return notApplicable('5 entries');
        const [first, last] = [kl[0]!, kl.at(-1)!];
        const measured = { entries: kl.length, first, last };
        return first > 1 && log.course.standsStill
          ? warn(measured, [klAt(log, (kl) => kl.findIndex((value) => !Number.isNaN(value)))])
          : pass(measured);
      },
      says: (m) =>
        say`The KL is ${m.first} nats per token from the first entry on and ${m.last} at the end: this is no drift. Either policy and reference are scored differently (B38), or the reference is another model (B51).`,
    }),
    logCheck({
      code: 'B38.first',
      title: 'The ratio is 1 where no update lies between',
      stage: 'logprob',
      level: 3,
      rank: 6,
      threshold:
        'a mean ratio within 0.005 of 1, and a clip share of at most 0.02: of the first update from a rollout, in at least half of 8 entries or more, which is each update of a script with one from each rollout; and the ratio in each entry before the learning rate is above 0; within 0.02 in that of step 1 where its KL to the reference is 0, and above 0 afterwards (that one only warns)',
      sources: ['huggingface/trl#3500'],
      why: 'Before any update the new log-probs are the old ones. Seen in a run whose mean ratio was 0.84 to 0.93 while its learning rate was 0.',
      remedy:
        'Score old and new log-probs alike: the same weights, precision, mode (dropout off), temperature, mask and token ids.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B54', 'B19'],
      proofs: ['log only'],
      needs: [],
      test(log) {
        const isOnly = log.declared.updatesPerRollout === 1 && !measuresBefore(log);
        const all = (name: string) => [...log.column(name).keys()];
        const clip = 'clip_ratio/region_mean';
        const asked = [
          { name: 'ratio/first', places: all('ratio/first'), least: 8, limit: 0.005 },
          { name: 'clip_ratio/first', places: all('clip_ratio/first'), least: 8, limit: 0.02 },
          isOnly
            ? { name: 'ratio/mean', places: all('ratio/mean'), least: 8, limit: 0.005 }
            : { name: 'ratio/mean', places: beforeUpdates(log), least: 1, limit: 0.005 },
          { name: clip, places: isOnly ? all(clip) : [], least: 8, limit: 0.02 },
          { name: 'ratio/mean', places: unmoved(log), least: 1, limit: 0.02, isKlZero: true },
        ];
        const columns = asked.map(({ name, places, least, limit, isKlZero = false }) => {
          const column = log.column(name);
          const there = places.filter((i) => !Number.isNaN(column[i]!));
          const off = there.filter(
            (i) => (name.startsWith('clip') ? column[i]! : Math.abs(column[i]! - 1)) > limit,
          );
          const isOff = least === 1 ? off.length > 0 : 2 * off.length > there.length;
          return { name, column, there, off, isOff, isEnough: there.length >= least, isKlZero };
        });
        const enough = columns.filter(({ isEnough }) => isEnough);
        const worst = enough.find(({ isOff }) => isOff) ?? enough[0];
        if (!worst)
          return notApplicable(
            'ratio/first or clip_ratio/first in 8 entries, or ratio/mean in one before any update',
          );
        const { name, column, there, off, isOff, isKlZero } = worst;
        const place = off[0] ?? there[0]!;
        const measured = {
          entries: there.length,
          off: off.length,
          value: column[place]!,
          name,
          isOnly,
          isKlZero,
        };
        const evidence = [at(log, place, name, column[place]!)];
        if (!isOff) return pass(measured);
        // A script may call the share of truncated completions so, or measure the KL before the step's updates alone.
        return name === clip || isKlZero ? warn(measured, evidence) : fail(measured, evidence);
      },
      says: (m) =>
        m.name.startsWith('clip')
          ? say`The ${m.isOnly ? 'one' : 'first'} update from a rollout clips tokens in ${m.off} of ${m.entries} entries (a share of ${m.value} in the first of them), though no update lies between old and new log-probs: the two are scored differently, by dropout, temperature, mask, or other weights.`
          : say`The ratio ${m.isOnly ? 'of the one update from a rollout' : m.name === 'ratio/first' ? 'of the first update' : `before any update, ${m.isKlZero ? 'while the KL to the reference is 0' : 'at a learning rate of 0'},`} is not 1 in ${m.off} of ${m.entries} entries (${m.value} in the first of them), though no update lies between old and new log-probs: the two are scored differently, by dropout, precision, temperature, mask, or other weights.`,
    }),
  ],
};

/** Whether rows are copies of others, but for a share of each number. */
const areEqual = (some: readonly Float32Array[], others: readonly Float32Array[], share: number): boolean =>
  some.every(
    (row, b) =>
      row.length === others[b]?.length &&
      row.every((value, t) => Math.abs(value - others[b]![t]!) <= share * Math.abs(value)),
  );

function klAt(log: LogView, find: (kl: Float64Array) => number): Evidence {
  const kl = log.column('kl');
  const index = find(kl);
  return { step: log.steps[index]!, values: { kl: kl[index]! } };
}
