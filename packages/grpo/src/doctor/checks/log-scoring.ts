/** Logs: whether log-probs are those of what was sampled. */
import type { MetricsEntry } from '../../trace/index.js';
import { logCheck } from '../check.js';
import type { LogView } from '../log-view.js';
import { type Evidence, fail, notApplicable, pass, warn } from '../outcome.js';
import { isNonnegative } from '../recompute/kl.js';
import { isFull } from '../tolerance.js';
import { known, median } from '../trend.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;

/** Different completions with one total before rounding explains it no more. */
const EQUAL = 3;
const SPREAD = 0.05;
/** A total this near 0 is that of certain text, and may well repeat. */
const CERTAIN = 10;
/** Totals of the policy on what it sampled, beside the reference's. */
const TIMES = 2;

const evidenceOf = (log: LogView, index: number, names: readonly string[]): Evidence => ({
  step: log.steps[index]!,
  values: Object.fromEntries(names.map((name) => [name, log.column(name)[index]!])),
});

export const scoringLogChecks = [
  logCheck({
    code: 'B14.log',
    title: 'Totals of log-probs end where the completion ends',
    stage: 'masks',
    kind: 'heuristic',
    level: 2,
    threshold: `not: ${EQUAL} or more different completions of a prompt with one total of the reference, while the totals of all spread by less than ${100 * SPREAD} %`,
    source:
      'seed 001: totals of −1072 and −1192 again and again for different texts; they held 200 tokens of padding',
    remedy: 'Sum over the completion’s own tokens: stop at its end token, not at the width of the batch.',
    consequence,
    induces: ['B46'],
    settles: 'The total of one completion scored alone, without padding.',
    needs: ['sequence_logprob_reference/equal', 'sequence_logprob_reference/spread'],
    test(log) {
      const [equal, spread] = [
        log.column('sequence_logprob_reference/equal'),
        log.column('sequence_logprob_reference/spread'),
      ];
      const totals = log.column('sequence_logprob_reference');
      const alike = [...equal.keys()].filter(
        (i) => equal[i]! >= EQUAL && spread[i]! < SPREAD && Math.abs(totals[i]!) > CERTAIN,
      );
      const [first] = alike;
      const measured = {
        entries: known(equal).length,
        alike: alike.length,
        ...(first !== undefined && { equal: equal[first]!, spread: spread[first]!, total: totals[first]! }),
      };
      const names = ['sequence_logprob_reference', 'sequence_logprob_reference/equal'];
      return alike.length > 0
        ? warn(
            measured,
            alike.map((i) => evidenceOf(log, i, names)),
          )
        : pass(measured);
    },
  }),
  logCheck({
    code: 'B38.likelihood',
    title: 'What the policy sampled is likelier under the policy than under the reference',
    stage: 'logprob',
    kind: 'heuristic',
    level: 3,
    threshold: `not: the policy’s totals below ${TIMES} × the reference’s at the first entry: E[log π − log q] over samples of π is not negative, whatever q is; a low temperature may bend this a little`,
    source:
      'Gibbs’ inequality; seed 001: −440 against −45 at step 1 with equal weights, the policy scored with dropout',
    remedy:
      'Put the policy into evaluation mode for scoring, or set its dropout to 0; then compare masks and token ids.',
    consequence,
    induces: ['B39', 'B48', 'B49', 'B50', 'B51', 'B42', 'B54'],
    settles:
      'The policy scored twice: different numbers are dropout; equal ones, another mask or other tokens.',
    needs: ['sequence_logprob', 'sequence_logprob_reference'],
    test(log) {
      const [policy, reference] = [log.column('sequence_logprob'), log.column('sequence_logprob_reference')];
      const first = policy.findIndex((value, i) => !Number.isNaN(value + reference[i]!));
      const measured = {
        step: log.steps[first]!,
        policy: policy[first]!,
        reference: reference[first]!,
        entries: known(policy).length,
      };
      if (policy[first]! >= TIMES * reference[first]! - CERTAIN) return pass(measured);
      return warn(measured, [evidenceOf(log, first, ['sequence_logprob', 'sequence_logprob_reference'])]);
    },
  }),
  logCheck({
    code: 'B38.log',
    title: 'The KL is not negative on average',
    stage: 'logprob',
    kind: 'heuristic',
    level: 3,
    threshold:
      'median of the entries at least −0.1 nat a token; single values of k1 may be negative, their mean over samples of the policy may not',
    source:
      'Gibbs’ inequality; seed 001: −4 to −6 nats a token throughout: the policy was scored with dropout',
    remedy:
      'Put the policy into evaluation mode for scoring; then compare masks and positions of the two passes.',
    consequence,
    induces: ['B39', 'B48', 'B49', 'B50', 'B51', 'B42'],
    settles:
      'The policy scored twice: different numbers are dropout; equal ones, another mask or other tokens.',
    needs: ['kl'],
    test(log) {
      if (isNonnegative(log.declared.kl))
        return notApplicable('an estimate that may be negative: of others B49.log judges');
      if (log.declared.klLevel === 'sequence_sum') return notApplicable('a KL a token');
      const kl = known(log.column('kl'));
      const measured = { entries: kl.length, first: kl[0]!, last: kl.at(-1)!, median: median(kl) };
      return measured.median < -0.1 ? warn(measured, [firstKl(log)]) : pass(measured);
    },
  }),
  logCheck({
    code: 'B38.constant',
    title: 'A large KL moves',
    stage: 'logprob',
    kind: 'heuristic',
    level: 3,
    threshold:
      'not: a KL above 1 nat a token from the first entry on that changes by less than 10 % over 5 entries or more; where the log has the KL of step 1, B51.log judges instead',
    source: 'seed 001: about 11 nats a token for 1000 steps',
    remedy: 'Score the first batch by policy and reference before any update: the KL must be 0.',
    consequence,
    induces: ['B49', 'B50'],
    settles:
      'The policy scored twice: different numbers are dropout (B38); equal ones, another reference (B51).',
    needs: ['kl'],
    test(log) {
      if (klOfStepOne(log)) return notApplicable('a log that begins later: B51.log judges the KL of step 1');
      const kl = known(log.column('kl'));
      if (kl.length < 5) return notApplicable('5 entries');
      const [first, last] = [kl[0]!, kl.at(-1)!];
      const measured = { entries: kl.length, first, last };
      return first > 1 && Math.abs(last - first) < 0.1 * first
        ? warn(measured, [firstKl(log)])
        : pass(measured);
    },
  }),
  logCheck({
    code: 'B51.log',
    title: 'The KL begins at 0',
    stage: 'kl',
    kind: 'identity',
    level: 3,
    threshold:
      'KL of step 1 at most 0.01 nat a token in absolute value, 0.03 of |d| unless the run is in float32; not of sums over completions; entries of one step only, with one update a rollout',
    source:
      'identity: before any update the reference is the policy; seed 002 began with 1.007 and 0.46, seed 001 with −4 to −6',
    remedy:
      'Score one batch by policy and reference before any update. Other weights: load the reference from the model that training starts with (after SFT: the SFT model). Equal weights: compare mode, mask and token ids.',
    consequence,
    induces: ['B49', 'B50'],
    needs: ['kl'],
    test(log) {
      const first = klOfStepOne(log);
      if (!first) return notApplicable('the KL of step 1 in an entry of its own');
      const { kl, klLevel } = log.declared;
      if (klLevel === 'sequence_sum') return notApplicable('a KL a token');
      const measured = { kl: first.values.kl! };
      // What has no sign does not average out.
      return Math.abs(measured.kl) <= (kl === 'abs' && !isFull(log) ? 0.03 : 0.01)
        ? pass(measured)
        : fail(measured, [{ step: first.step, values: measured }]);
    },
  }),
];

/**
 * The entry that has the KL of the first step alone; one of an evaluation may come before it. Of several updates from a
 * rollout, the later ones have a KL of their own.
 */
function klOfStepOne({ series: { entries, stepsPerEntry }, declared }: LogView): MetricsEntry | undefined {
  if ((declared.updatesPerRollout ?? 1) > 1) return undefined;
  const first = entries.find(({ values }) => Number.isFinite(values.kl));
  return stepsPerEntry === 1 && first && first.step <= 1 ? first : undefined;
}

function firstKl(log: LogView): Evidence {
  const kl = log.column('kl');
  const first = kl.findIndex((value) => !Number.isNaN(value));
  return { step: log.steps[first]!, values: { kl: kl[first]! } };
}
