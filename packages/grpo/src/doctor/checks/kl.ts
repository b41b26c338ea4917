/** The KL is the declared estimate, to the intended reference. */
import { stepCheck } from '../check.js';
import { ofFirstUpdate, placeOf } from '../first-update.js';
import { updateRows } from '../inputs.js';
import { type Evidence, fail, inform, notApplicable, pass, warn } from '../outcome.js';
import { sum } from '../statistics.js';
import { compare, toleranceOf } from '../tolerance.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;

/** Estimates of the KL a token from d = log π − log π_ref (Schulman, 2020). */
const ESTIMATES: Record<string, (d: number) => number> = {
  k1: (d) => d,
  k2: (d) => (d * d) / 2,
  k3: (d) => Math.exp(-d) + d - 1,
};

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
      const gap = compare(firstPolicyLogprobs, ofFirstUpdate(record, referenceLogprobs));
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
    threshold: 'every token within 1e-3 of max(1, |KL|)',
    source: 'identity; Schulman, 2020: k1, k2, k3',
    remedy: 'Compare formula and sign: d = log π − log π_ref; k3 = e^−d + d − 1.',
    consequence,
    induces: ['B49', 'B43'],
    needs: ['updates', 'referenceLogprobs', 'declared'],
    test({ updates, referenceLogprobs, declared: { kl = 'k3' } }, record) {
      const [first] = updates;
      const policy = updateRows(record, first, 'policyLogprobs');
      const terms = updateRows(record, first, 'klTerms');
      if (!policy || !terms || !ESTIMATES[kl])
        return notApplicable('updates.klTerms of k1, k2 or k3, with policy log-probs');
      const reference = ofFirstUpdate(record, referenceLogprobs);
      const misses = (estimate: (d: number) => number) => {
        for (const [row, own] of terms.entries()) {
          for (const [token, value] of own.entries()) {
            const expected = estimate(policy[row]![token]! - reference[row]![token]!);
            if (Math.abs(value - expected) > 1e-3 * Math.max(1, Math.abs(expected)))
              return { row, token, value, expected };
          }
        }
        return undefined;
      };
      const miss = misses(ESTIMATES[kl]);
      if (!miss) return pass({ estimate: kl });
      const other = Object.keys(ESTIMATES).find((name) => !misses(ESTIMATES[name]!)) ?? 'none known';
      return fail({ estimate: kl, fits: other }, [
        { ...placeOf(record, miss), values: { kl: miss.value, expected: miss.expected } },
      ]);
    },
  }),
  stepCheck({
    code: 'B48.in-loss',
    title: 'The KL in the loss has a gradient',
    stage: 'kl',
    kind: 'heuristic',
    level: 1,
    threshold: 'not k1 with β > 0: on-policy its expected gradient is 0',
    source: 'OpenRLHF#1309, trl#4967; seeds 001 and 003',
    remedy: 'k2 in the loss has the reverse KL’s gradient, k3 the forward KL’s; k1 belongs into the reward.',
    consequence,
    settles: 'The mean gradient of the KL term over many samples beside that of the full KL.',
    needs: ['declared'],
    test({ declared: { kl, beta } }) {
      if (!beta || !kl) return notApplicable('a KL in the loss');
      return kl === 'k1' ? warn({ estimate: kl, beta }) : pass({ estimate: kl });
    },
  }),
  stepCheck({
    code: 'B49.nonnegative',
    title: 'k3 is never negative',
    stage: 'kl',
    kind: 'identity',
    level: 6,
    threshold: 'every token ≥ −1e-6, and finite',
    source: 'identity: e^−d + d − 1 ≥ 0',
    remedy: 'Look at sign and mask: padding has no KL.',
    consequence,
    needs: ['updates', 'declared'],
    test({ updates, declared: { kl = 'k3' } }, record) {
      if (kl !== 'k3') return notApplicable('the estimate k3');
      const [first] = updates;
      const terms = updateRows(record, first, 'klTerms');
      if (!terms) return notApplicable('updates.klTerms');
      const wrong = terms.flatMap((row, at): Evidence[] => {
        const token = row.findIndex((value) => !(value >= -1e-6 && value < Number.POSITIVE_INFINITY));
        return token < 0 ? [] : [{ ...placeOf(record, { row: at, token }), values: { kl: row[token]! } }];
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
    threshold: 'the top 1 % of tokens hold at most half of a KL above 0.01 nat a token; |log ratio| ≤ 10',
    source: 'verl#2953, slime#1004; proposal',
    remedy: 'Look at these tokens: masked wrongly, or truly drifted; a bounded estimate tames them.',
    consequence: { rerun: 'nothing', checkpointsVoid: false },
    settles: 'The tokens themselves, and whether they belong to the completion.',
    needs: ['firstUpdate'],
    test({ firstUpdate: { klTerms } }) {
      if (!klTerms || klTerms.length < 200) return notApplicable('updates.klTerms of 200 tokens');
      const sorted = Float64Array.from(klTerms).sort().reverse();
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
