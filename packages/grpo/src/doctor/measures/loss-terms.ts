import type { StepRecord, UpdateRecord } from '../../trace/index.js';
import { entropyMeanOf } from '../recompute/micro-batches.js';

export interface LossTerms {
  /** Σ policy × weight + β × KL × its weight, and the same of absolute values. */
  terms: number;
  /** Σ β × KL × its weight. */
  kl: number;
  size: number;
  /** What the declared entropy bonus takes from it: coefficient × entropy. */
  bonus: number;
  loss: number;
}

/** What the loss of an update should be the sum of; as text what it cannot be told without. */
export function lossTerms(record: StepRecord, update: UpdateRecord): LossTerms | string {
  const { policyTerms, klTerms, weights, klWeights = weights, loss } = update;
  const declared = record.declared ?? {};
  const beta = update.beta ?? (declared.kl?.place === 'reward' ? 0 : declared.kl?.beta);
  if (
    !policyTerms ||
    !weights ||
    loss === undefined ||
    !Number.isFinite(loss) ||
    beta === undefined ||
    (beta !== 0 && !klTerms)
  )
    return 'updates: terms, weights and a finite loss; declared.kl.beta';
  const coefficient = update.entropyCoefficient ?? declared.entropy?.coefficient ?? 0;
  const entropy = coefficient === 0 ? 0 : entropyMeanOf(declared, record, update);
  if (typeof entropy === 'string') return entropy;
  let [terms, kl, size] = [0, 0, 0];
  for (let t = 0; t < weights.length; t++) {
    // NaN × 0 is NaN: a masked token may have no log-prob.
    if (weights[t] === 0) continue;
    const own = beta === 0 ? 0 : beta * klTerms![t]! * klWeights![t]!;
    const term = policyTerms[t]! * weights[t]! + own;
    terms += term;
    kl += own;
    size += Math.abs(term);
  }
  return { terms, kl, size, bonus: coefficient * entropy, loss };
}
