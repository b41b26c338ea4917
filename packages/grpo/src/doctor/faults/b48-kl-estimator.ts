import type { StepRecord, UpdateRecord } from '../../trace/index.js';
import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { membersOf, scoredRows, updateRows } from '../inputs.js';
import { isScoredAsSampled } from '../measures/mask-plans.js';
import { overUpdates } from '../measures/over-updates.js';
import { type EvidenceOf, fail, notApplicable, pass, warn } from '../outcome.js';
import { ESTIMATES, klTermsOf } from '../recompute/kl.js';
import { isTrained } from '../recompute/row.js';
import { quote, say } from '../sentence.js';
import { isFull } from '../tolerance.js';

export const b48: Fault = {
  code: 'B48',
  name: 'KL estimator',
  title: 'The KL estimate is misused',
  checks: [
    stepCheck({
      code: 'B48.in-loss',
      title: 'The KL in the loss has a gradient',
      stage: 'kl',
      level: 1,
      rank: 3,
      threshold:
        'reported when k1 is in the loss with β > 0 and is not multiplied by the ratio: on-policy its expected gradient is 0',
      sources: ['OpenRLHF/OpenRLHF#1309', 'huggingface/trl#4967', 'allenai/open-instruct#534'],
      remedy:
        'Use k2 in the loss for the gradient of the reverse KL, k3 for that of the forward KL; k1 belongs in the reward.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      settles: 'The mean gradient of the KL term over many samples, compared with that of the full KL.',
      needs: ['declared'],
      test({ declared: { kl = {} } }, record) {
        if (!isScoredAsSampled(record))
          return notApplicable('completions that are drawn from the distribution that scores them');
        const { beta, estimator: estimate, place, biasCorrected } = kl;
        if (!beta || !estimate || place === 'reward') return notApplicable('a KL in the loss');
        return estimate === 'k1' && !biasCorrected ? warn({ estimate, beta }) : pass({ estimate });
      },
      says: (m) =>
        say`The KL in the loss is ${quote(m.estimate)}: on-policy its expected gradient is 0 for every β (here ${m.beta}).`,
    }),
    stepCheck({
      code: 'B48.estimator',
      title: 'The KL of a token is the declared estimate',
      stage: 'kl',
      level: 6,
      rank: 7,
      threshold:
        'every token with mask 1 within 1e-3 of the KL and 1e-5 in float32, 0.02 of max(1, |KL|) in half precision, of the declared estimate at the declared level, clipped and multiplied by the ratio as declared; any of k1, k2, k3, abs where none is declared',
      sources: ['arXiv:2402.03300', 'huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      remedy: 'Compare formula and sign: d = log π − log π_ref; k3 = e^−d + d − 1.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B49', 'B43'],
      proofs: ['native'],
      needs: ['updates', 'referenceLogprobs', 'declared'],
      test({ updates, declared: { kl = {} } }, record) {
        const { estimator, biasCorrected, place } = kl;
        if (place === 'reward') return notApplicable('a KL in the loss: one in the reward is judged by B49');
        if (estimator === 'full')
          return notApplicable('an estimate from log-probs: the full KL is over the vocabulary');
        const names = Object.keys(ESTIMATES);
        // A later update adds nothing but the ratio.
        const some = biasCorrected ? updates : updates.slice(0, 1);
        const missOf = (name: string) => overUpdates(some, (update) => klMiss(name, record, update));
        const asked = estimator === undefined ? names : [estimator];
        const fitting = (list: readonly string[]) => list.find((name) => missOf(name).verdict === 'pass');
        const turned = () =>
          names.find(
            (name) => overUpdates(some, (update) => klMiss(name, record, update, true)).verdict === 'pass',
          );
        const outcome = missOf(asked[0]!);
        if (outcome.verdict === 'not applicable') return outcome;
        const right = fitting(asked);
        if (right !== undefined) return pass({ estimate: right });
        if (estimator === undefined) return notApplicable('declared.kl.estimator');
        const otherwise = fitting(names) ?? turned();
        const isTurned = otherwise !== undefined && fitting([otherwise]) === undefined;
        const fits = `${otherwise ?? 'none known'}${isTurned ? ' of log π_ref − log π' : ''}`;
        const others = { estimate: estimator, fits };
        return outcome.verdict === 'pass' ? outcome : fail(others, outcome.evidence);
      },
      says: (m) =>
        say`The KL of the tokens is not the declared ${quote(m.estimate)}; it fits ${quote(m.fits)}.`,
    }),
  ],
};

/** The first token whose KL is not the estimate; as text, the missing input. */
function klMiss(
  estimate: string,
  record: StepRecord,
  update: UpdateRecord,
  isTurned = false,
): EvidenceOf<{ kl: number; expected: number }> | string | undefined {
  const kl = record.declared!.kl ?? {};
  const terms = updateRows(record, update, 'klTerms');
  const policy = updateRows(record, update, 'policyLogprobs');
  const ratios = updateRows(record, update, 'ratios');
  if (!terms || !policy || (kl.biasCorrected && !ratios))
    return 'updates.klTerms and policyLogprobs, and ratios of a KL that is multiplied by them';
  const reference = scoredRows(record, update, 'referenceLogprobs')!;
  const masks = scoredRows(record, update, 'mask');
  const [absolute, relative] = isFull(record) ? [1e-5, 1e-3] : [0.02, 0.02];
  for (const [i, completion] of membersOf(record, update).entries()) {
    const mask = masks?.[i];
    const [own, other] = isTurned ? [reference[i]!, policy[i]!] : [policy[i]!, reference[i]!];
    const row = { policy: own, reference: other, mask, ratios: ratios?.[i] };
    const expected = klTermsOf(estimate, kl, row);
    for (let token = 0; token < expected.length; token++) {
      const [term, right] = [terms[i]![token]!, expected[token]!];
      if (isTrained(mask, token) && !(Math.abs(term - right) <= absolute + relative * Math.abs(right)))
        return { completion, token, values: { kl: term, expected: right } };
    }
  }
  return undefined;
}
