/** The KL is the declared estimate, to the intended reference. */
import type { StepRecord, UpdateRecord } from '../../trace/index.js';
import { stepCheck } from '../check.js';
import { compareFirst, firstMasks, placeOf } from '../first-update.js';
import { inputs, membersOf, updateRows } from '../inputs.js';
import { type Evidence, fail, inform, notApplicable, pass, warn } from '../outcome.js';
import { overUpdates } from '../over-updates.js';
import { ESTIMATES, isNonnegative, klTermsOf } from '../recompute/kl.js';
import { isTrained } from '../recompute/row.js';
import { sum } from '../statistics.js';
import { isFull, toleranceOf } from '../tolerance.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;

export const klChecks = [
  stepCheck({
    code: 'B51.start',
    title: 'On the first step the reference is the policy',
    stage: 'kl',
    kind: 'identity',
    level: 3,
    threshold:
      'mean |policy − reference| within the tolerance of the precision (1e-4 nat in float32, 0.03 in half precision)',
    source: 'identity; seed 002: the base model as reference of an SFT policy gave a KL of 1.007 at step 1',
    remedy: 'Load the reference from the weights that training starts with.',
    consequence,
    induces: ['B49', 'B50'],
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
  }),
  stepCheck({
    code: 'B48.estimator',
    title: 'The KL of a token is the declared estimate',
    stage: 'kl',
    kind: 'identity',
    level: 6,
    threshold:
      'every token with mask 1 within 1e-3 of the KL and 1e-5 in float32, 0.02 of max(1, |KL|) in half precision, of the declared estimate at the declared level, clipped and multiplied by the ratio as declared; any of k1, k2, k3, abs where none is declared',
    source: 'identity; Schulman, 2020: k1, k2, k3',
    remedy: 'Compare formula and sign: d = log π − log π_ref; k3 = e^−d + d − 1.',
    consequence,
    induces: ['B49', 'B43'],
    needs: ['updates', 'referenceLogprobs', 'declared'],
    test({ updates, declared: { kl, klBiasCorrected } }, record) {
      if (kl === 'full')
        return notApplicable('an estimate from log-probs: the full KL is over the vocabulary');
      const names = Object.keys(ESTIMATES);
      // A later update tells of nothing but the ratio besides.
      const some = klBiasCorrected ? updates : updates.slice(0, 1);
      const missOf = (name: string) => overUpdates(some, (update) => klMiss(name, record, update));
      if (kl !== undefined && !names.includes(kl))
        return notApplicable(`updates.klTerms of ${names.join(', ')}`);
      const asked = kl === undefined ? names : [kl];
      const fitting = (list: readonly string[]) => list.find((name) => missOf(name).verdict === 'pass');
      const outcome = missOf(asked[0]!);
      if (outcome.verdict === 'not applicable') return outcome;
      const fits = fitting(asked);
      if (fits !== undefined) return pass({ estimate: fits });
      if (kl === undefined) return notApplicable('declared.kl');
      const others = { estimate: kl, fits: fitting(names) ?? 'none known' };
      return outcome.verdict === 'fail' ? fail(others, outcome.evidence) : outcome;
    },
  }),
  stepCheck({
    code: 'B48.in-loss',
    title: 'The KL in the loss has a gradient',
    stage: 'kl',
    kind: 'heuristic',
    level: 1,
    threshold:
      'not k1 with β > 0 in the loss, unless it is multiplied by the ratio: on-policy its expected gradient is 0',
    source: 'OpenRLHF#1309, trl#4967; seeds 001 and 003',
    remedy: 'k2 in the loss has the reverse KL’s gradient, k3 the forward KL’s; k1 belongs into the reward.',
    consequence,
    settles: 'The mean gradient of the KL term over many samples beside that of the full KL.',
    needs: ['declared'],
    test({ declared: { kl, beta, klPlace, klBiasCorrected } }) {
      if (!beta || !kl || klPlace === 'reward') return notApplicable('a KL in the loss');
      return kl === 'k1' && !klBiasCorrected ? warn({ estimate: kl, beta }) : pass({ estimate: kl });
    },
  }),
  stepCheck({
    code: 'B49.nonnegative',
    title: 'An estimate that cannot be negative is not',
    stage: 'kl',
    kind: 'identity',
    level: 6,
    threshold:
      'k2, k3, abs and the full KL: every token with mask 1 ≥ −1e-6 in float32 and ≥ −0.02 in half precision, which rounds; and finite',
    source: 'identity: d² / 2, e^−d + d − 1 and |d| ≥ 0',
    remedy: 'Look at sign and mask: padding has no KL.',
    consequence,
    needs: ['firstUpdate', 'declared'],
    test({ firstUpdate, declared: { kl } }, record) {
      if (!isNonnegative(kl)) return notApplicable('a declared estimate k2, k3, abs or full');
      const terms = updateRows(record, firstUpdate, 'klTerms');
      if (!terms) return notApplicable('updates.klTerms');
      const masks = firstMasks(record);
      const least = isFull(record) ? -1e-6 : -0.02;
      const wrong = terms.flatMap((row, at): Evidence[] => {
        const mask = masks?.[at];
        for (let token = 0; token < row.length; token++) {
          const kl = row[token]!;
          if (mask?.[token] !== 0 && !(kl >= least && kl < Number.POSITIVE_INFINITY))
            return [{ ...placeOf(record, { row: at, token }), values: { kl } }];
        }
        return [];
      });
      const measured = { completions: terms.length, wrong: wrong.length };
      return wrong.length > 0 ? fail(measured, wrong) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B49.share',
    title: 'No handful of tokens makes up the KL',
    stage: 'kl',
    kind: 'heuristic',
    level: 6,
    threshold: 'the top 1 % of 200 tokens or more hold at most half of a KL above 0.01 nat a token',
    source: 'verl#2953, slime#1004; proposal',
    remedy: 'Look at these tokens: masked wrongly, or truly drifted; a bounded estimate tames them.',
    consequence: { rerun: 'nothing', checkpointsVoid: false },
    settles: 'The tokens themselves, and whether they belong to the completion.',
    needs: ['firstUpdate'],
    test({ firstUpdate }, record) {
      const { kl, klLevel = 'token' } = record.declared ?? {};
      if (kl === 'k1' || klLevel !== 'token') return notApplicable('a KL of each token that is not negative');
      const masks = firstMasks(record);
      const terms = updateRows(record, firstUpdate, 'klTerms') ?? [];
      const trained: number[] = [];
      for (const [at, row] of terms.entries()) {
        const mask = masks?.[at];
        for (let t = 0; t < row.length; t++) if (mask?.[t] !== 0) trained.push(row[t]!);
      }
      if (trained.length < 200) return notApplicable('updates.klTerms of 200 tokens');
      const sorted = Float64Array.from(trained).sort().reverse();
      const total = sum(sorted);
      const top = sum(sorted.subarray(0, Math.ceil(sorted.length / 100)));
      const measured = {
        tokens: sorted.length,
        mean: total / sorted.length,
        topShare: total > 0 ? top / total : 0,
        largest: sorted[0]!,
      };
      if (measured.mean < 0.01) return pass(measured);
      return measured.topShare > 0.5 ? inform(measured) : pass(measured);
    },
  }),
];

/** The first token whose KL is not the estimate; as text, what is missing to tell. */
function klMiss(estimate: string, record: StepRecord, update: UpdateRecord): Evidence | string | undefined {
  const declared = record.declared!;
  const terms = updateRows(record, update, 'klTerms');
  const policy = updateRows(record, update, 'policyLogprobs');
  const ratios = updateRows(record, update, 'ratios');
  if (!terms || !policy || (declared.klBiasCorrected && !ratios))
    return 'updates.klTerms and policyLogprobs, and ratios of a KL that is multiplied by them';
  const reference = inputs.referenceLogprobs.from(record)!;
  const masks = inputs.masks.from(record);
  const [absolute, relative] = isFull(record) ? [1e-5, 1e-3] : [0.02, 0.02];
  for (const [i, completion] of membersOf(record, update).entries()) {
    const mask = masks?.[completion];
    const row = { policy: policy[i]!, reference: reference[completion]!, mask, ratios: ratios?.[i] };
    const expected = klTermsOf(estimate, declared, row);
    for (let token = 0; token < expected.length; token++) {
      const [kl, right] = [terms[i]![token]!, expected[token]!];
      if (isTrained(mask, token) && !(Math.abs(kl - right) <= absolute + relative * Math.abs(right)))
        return { completion, token, values: { kl, expected: right } };
    }
  }
  return undefined;
}
