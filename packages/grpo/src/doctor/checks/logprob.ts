/** One token, one set of weights, one log-prob: whoever computes it. */
import type { StepRecord, UpdateRecord } from '../../trace/index.js';
import { stepCheck } from '../check.js';
import { compareFirst, firstMasks, ofFirstUpdate, placeOf } from '../first-update.js';
import { inputs, membersOf, updateRows } from '../inputs.js';
import { fail, notApplicable, pass, warn } from '../outcome.js';
import { compare, isFull, repeatBound, toleranceOf } from '../tolerance.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;

/** Nats a token by which scoring may miss the sampler’s log-prob before something other than rounding must be the cause. */
const NOT_ROUNDING = 0.5;
/** How much better a shifted comparison must fit to be named. */
const CLEARLY = 0.5;

/** Repeated tokens that do not all have one log-prob by accident. */
const PAIRS = 8;

export const logprobChecks = [
  stepCheck({
    code: 'B35.shift',
    title: 'The logits before a token score it',
    stage: 'logprob',
    kind: 'identity',
    level: 3,
    threshold: `mean |policy − sampler| ≤ ${NOT_ROUNDING} nat, or no better against the token before or after`,
    source: 'identity; seed 001, phase 3',
    remedy: 'logits[i] predict ids[i + 1]: drop the last row of logits and the first id.',
    consequence,
    induces: ['B36', 'B38', 'B39', 'B40', 'B49', 'B51', 'B19'],
    needs: ['firstPolicyLogprobs', 'samplerLogprobs'],
    test({ firstPolicyLogprobs, samplerLogprobs }, record) {
      const straight = compareFirst(record, firstPolicyLogprobs, samplerLogprobs);
      if (straight.tokens === 0) return notApplicable('completions scored in the sampled length');
      if (!(straight.mean > NOT_ROUNDING)) return pass({ meanGap: straight.mean });
      const shifted = (by: number) =>
        compare(
          firstPolicyLogprobs.map((row) => row.subarray(Math.max(0, by), row.length + Math.min(0, by))),
          ofFirstUpdate(record, samplerLogprobs).map((row) =>
            row.subarray(Math.max(0, -by), row.length - Math.max(0, by)),
          ),
        ).mean;
      const by = shifted(1) < shifted(-1) ? 1 : -1;
      const measured = { meanGap: straight.mean, shifted: shifted(by), by };
      return measured.shifted < CLEARLY * straight.mean ? fail(measured) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B36.rows',
    title: 'A token’s log-prob depends on where it stands',
    stage: 'logprob',
    kind: 'identity',
    level: 3,
    threshold: `not: every repeated id of a completion with one and the same log-prob, in ${PAIRS} pairs or more`,
    source: 'identity; seed 001: gather with an index of the wrong shape reads row 0 for all tokens',
    remedy: 'Gather with an index of shape [T, 1] on logits of shape [T, V].',
    consequence,
    induces: ['B35', 'B38', 'B39', 'B49', 'B51', 'B19'],
    needs: ['firstPolicyLogprobs', 'scoredIds'],
    test({ firstPolicyLogprobs, scoredIds }, record) {
      const ids = ofFirstUpdate(record, scoredIds);
      const masks = firstMasks(record);
      let pairs = 0;
      for (const [row, logprobs] of firstPolicyLogprobs.entries()) {
        const seen = new Map<number, number>();
        const [own, mask] = [ids[row]!, masks?.[row]];
        for (let t = 0; t < logprobs.length; t++) {
          const logprob = logprobs[t]!;
          // Near 0 two log-probs round to one number in health.
          if (logprob > -0.01 || mask?.[t] === 0) continue;
          const before = seen.get(own[t]!);
          seen.set(own[t]!, logprob);
          if (before === undefined) continue;
          pairs++;
          // One is enough.
          if (before !== logprob) return pass({ completion: row, token: t });
        }
      }
      if (pairs < PAIRS) return notApplicable(`${PAIRS} repeated tokens`);
      return fail({ pairs });
    },
  }),
  stepCheck({
    code: 'B38.repeat',
    title: 'Scoring twice with the same weights gives the same log-probs',
    stage: 'logprob',
    kind: 'identity',
    level: 3,
    threshold: 'largest difference ≤ 1e-4 in float32, ≤ 0.05 in half precision',
    source: 'identity; seed 001: dropout in the policy’s scoring (trl#3500, trl#3234)',
    remedy: 'Put the policy into evaluation mode for scoring, or set its dropout to 0.',
    consequence,
    induces: ['B13', 'B19', 'B39', 'B49', 'B51', 'B55'],
    needs: ['probes'],
    test({ probes: { repeatedScoring } }, record) {
      if (!repeatedScoring?.tokens) return notApplicable('probes.repeatedScoring');
      const bound = repeatBound(record);
      const { mean, max, tokens } = repeatedScoring;
      const measured = { mean, max, tokens, bound };
      return max <= bound ? pass(measured) : fail(measured);
    },
  }),
  stepCheck({
    code: 'B38.dropout',
    title: 'No dropout is active while the policy is scored',
    stage: 'logprob',
    kind: 'heuristic',
    level: 3,
    threshold: 'no module with p > 0 in training mode',
    source: 'trl#3500; faults.md B38',
    remedy: 'Set disable_dropout, or the model’s dropout probabilities to 0.',
    consequence,
    induces: ['B13', 'B19', 'B39', 'B49', 'B51', 'B55'],
    settles: 'Two scorings of one batch: they must be equal.',
    needs: ['declared'],
    test({ declared: { activeDropout } }) {
      if (!activeDropout) return notApplicable('declared.activeDropout');
      const measured = { modules: activeDropout.length, first: activeDropout[0] ?? '' };
      return activeDropout.length > 0 ? warn(measured) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B13.alone',
    title: 'A completion’s log-probs do not depend on its neighbours in the batch',
    stage: 'logprob',
    kind: 'identity',
    level: 3,
    threshold:
      'row alone against row in the batch: largest difference ≤ 1e-3 in float32, ≤ 0.5 in half precision',
    source: 'identity; trl#6800: up to 34 nats without position ids under left padding',
    remedy: 'Pass attention mask and position ids in scoring as in sampling.',
    consequence,
    induces: ['B19', 'B38', 'B39', 'B49', 'B51'],
    needs: ['probes'],
    test({ probes: { aloneInBatch } }, record) {
      if (!aloneInBatch?.tokens) return notApplicable('probes.aloneInBatch');
      const bound = isFull(record) ? 1e-3 : 0.5;
      const { mean, max, tokens } = aloneInBatch;
      const measured = { mean, max, tokens, bound };
      return max <= bound ? pass(measured) : fail(measured);
    },
  }),
  stepCheck({
    code: 'B38.policy',
    title: 'Before the first update the policy is the reference',
    stage: 'logprob',
    kind: 'identity',
    level: 3,
    threshold:
      'where the reference agrees with the sampler on step 1, the policy does too, within the tolerance of the precision',
    source: 'identity; seed 001: log-probs of −440 against −45 with equal weights',
    remedy: 'Score the policy in evaluation mode, with the same mask and positions as the reference.',
    consequence,
    induces: ['B19', 'B39', 'B49', 'B51'],
    needs: ['firstPolicyLogprobs', 'referenceLogprobs', 'samplerLogprobs'],
    test({ firstPolicyLogprobs, referenceLogprobs, samplerLogprobs }, record) {
      if (record.step > 1) return notApplicable('the first step of a run');
      const reference = compareFirst(record, ofFirstUpdate(record, referenceLogprobs), samplerLogprobs);
      const policy = compareFirst(record, firstPolicyLogprobs, samplerLogprobs);
      const tolerance = toleranceOf(record);
      if (!(reference.mean <= tolerance.mean))
        return notApplicable('a reference that agrees with the sampler');
      const measured = { policyGap: policy.mean, referenceGap: reference.mean, tolerance: tolerance.mean };
      return policy.mean <= tolerance.mean ? pass(measured) : fail(measured, [placeOf(record, policy.worst)]);
    },
  }),
  stepCheck({
    code: 'B39.gap',
    title: 'Sampler and trainer give a token the same log-prob',
    stage: 'logprob',
    kind: 'heuristic',
    level: 3,
    threshold:
      'at the first update: mean |policy − sampler| ≤ 1e-4 in float32, ≤ 0.03 in half precision; largest ≤ 0.01 and ≤ 1',
    source: 'measured on clean runs of one engine; 0.03 to 0.1 is usual between two (trl#3867, AReaL#1290)',
    remedy:
      'After the checks of ids, temperature and mode: same precision and kernels on both sides, or importance sampling.',
    consequence: { rerun: 'nothing', checkpointsVoid: false },
    settles: 'Both log-probs of one completion, computed in float32 by one engine.',
    needs: ['firstPolicyLogprobs', 'samplerLogprobs'],
    test({ firstPolicyLogprobs, samplerLogprobs }, record) {
      const gap = compareFirst(record, firstPolicyLogprobs, samplerLogprobs);
      if (gap.tokens === 0) return notApplicable('completions scored in the sampled length');
      const tolerance = toleranceOf(record);
      const measured = { mean: gap.mean, max: gap.max, tokens: gap.tokens };
      return gap.mean <= tolerance.mean && gap.max <= tolerance.max
        ? pass(measured)
        : warn(measured, [placeOf(record, gap.worst)]);
    },
  }),
  stepCheck({
    code: 'B40.ratio',
    title: 'Later updates from one rollout have ratios other than 1',
    stage: 'logprob',
    kind: 'identity',
    level: 6,
    threshold:
      'in the last of several updates some ratio is not exactly 1, where an earlier update is known to have changed the weights; a warning where completions are trained on twice and no old log-probs are kept, as declared',
    source: 'identity; trl#3120, trl#2769: old log-probs taken again after the update',
    remedy: 'Compute the old log-probs once, before the first update.',
    consequence,
    needs: ['updates'],
    test({ updates }, record) {
      const last = updates.at(-1)!;
      if (updates.length < 2) return notApplicable('several updates from one rollout');
      const { oldLogprobs, ratioLevel, ownStages } = record.declared ?? {};
      if (ownStages?.includes('objective')) return notApplicable('the standard stage objective');
      if (oldLogprobs === 'detach') {
        if (ratioLevel === 'none') return notApplicable('a loss with a ratio');
        const taken = updates.flatMap((update) => membersOf(record, update));
        return taken.length > new Set(taken).size
          ? warn({ updates: updates.length, detached: true })
          : notApplicable('completions that are trained on twice, with old log-probs');
      }
      const logRatios = logRatiosOf(record, last);
      if (!logRatios)
        return notApplicable('updates.ratios, or scored.oldLogprobs and updates.policyLogprobs');
      if (!updates.slice(0, -1).some((update) => isMoved(record, update)))
        return notApplicable('an update that is known to have changed the weights');
      const masks = inputs.masks.from(record);
      const { max, tokens } = compare(
        logRatios,
        logRatios.map((row) => new Float32Array(row.length)),
        masks && membersOf(record, last).map((b) => masks[b]!),
      );
      if (tokens === 0) return notApplicable('tokens with mask 1 in the last update');
      const measured = { updates: updates.length, tokens, largestLogRatio: max };
      return max === 0 ? fail(measured) : pass(measured);
    },
  }),
];

/** log π − log π_old of the tokens of an update, as the loss used it where that is known. */
function logRatiosOf(record: StepRecord, update: UpdateRecord): Float32Array[] | undefined {
  const ratios = updateRows(record, update, 'ratios');
  if (ratios) return ratios.map((row) => row.map(Math.log));
  const policy = updateRows(record, update, 'policyLogprobs');
  const old = inputs.oldLogprobs.from(record);
  const members = membersOf(record, update);
  return old && policy?.map((row, i) => row.map((logprob, t) => logprob - old[members[i]!]![t]!));
}

/** Whether an update changed what the forward pass reads: half-precision weights may stay where float32 masters move. */
function isMoved(
  record: StepRecord,
  { gradNorm = 0, learningRate = 0, changedShare, changedWeightShare }: UpdateRecord,
): boolean {
  const masters = !isFull(record) && record.declared?.masterWeights !== false;
  const share = changedWeightShare ?? (masters ? undefined : changedShare);
  const moved = share === undefined ? isFull(record) && learningRate >= 1e-7 : share > 0.01;
  return gradNorm > 0 && learningRate > 0 && moved;
}
