/** The loss as a sum over tokens: each one's share, by part. */
import { membersOf, updateRows } from '../../doctor/inputs.js';
import { type EntropyWeight, entropyWeightsOf } from '../../doctor/recompute/micro-batches.js';
import { sum } from '../../maths/moments.js';
import type { StepRecord, UpdateRecord } from '../../trace/index.js';
import { betaOf } from '../../view/loss-rows.js';
import type { LossSettings, TokenLosses } from '../requests.js';

/** Shares of the tokens of one completion. */
export type TokenShares = Pick<TokenLosses, 'policy' | 'kl' | 'entropy'>;

/** Weight of the entropy bonus. */
export const bonusOf = ({ declared }: StepRecord, update: UpdateRecord): number =>
  update.entropyCoefficient ?? declared?.entropy?.coefficient ?? 0;

/** The settings of an update that other values may be tried of. */
export function settingsOf(record: StepRecord, update: UpdateRecord | undefined): LossSettings {
  const { clipLow, clipHigh = clipLow } = record.declared?.objective ?? {};
  const isKnown = update?.beta !== undefined || record.declared?.kl?.beta !== undefined;
  return {
    ...(clipLow !== undefined && { epsilonLow: clipLow }),
    ...(clipHigh !== undefined && { epsilonHigh: clipHigh }),
    ...(update && isKnown && { beta: betaOf(record, update) }),
  };
}

/**
 * Gives the shares of each completion of an update, in the update's order. A part that the record does not tell is missing.
 *
 * @param entropyWeights - of the whole update; those of the record when not given
 */
export function sharesOf(
  record: StepRecord,
  update: UpdateRecord,
  entropyWeights?: readonly EntropyWeight[] | string,
): (row: number) => TokenShares {
  const rows = (key: Parameters<typeof updateRows>[2]) => updateRows(record, update, key);
  const [terms, klTerms, weights, entropies] = [
    rows('policyTerms'),
    rows('klTerms'),
    rows('weights'),
    rows('entropies'),
  ];
  const klWeights = rows('klWeights') ?? weights;
  const beta = betaOf(record, update);
  const bonus = bonusOf(record, update);
  const counts =
    bonus === 0 ? undefined : (entropyWeights ?? entropyWeightsOf(record.declared ?? {}, record, update));
  return (row) => ({
    ...(terms && weights && { policy: products(terms[row]!, weights[row]!, 1) }),
    ...(beta !== 0 && klTerms && klWeights && { kl: products(klTerms[row]!, klWeights[row]!, beta) }),
    ...(counts !== undefined &&
      typeof counts !== 'string' &&
      entropies && { entropy: entropyShares(entropies[row]!, counts[row]!, bonus) }),
  });
}

function products(terms: Float32Array, weights: Float32Array, factor: number): Float64Array {
  const shares = new Float64Array(terms.length);
  // NaN × 0 is NaN: a masked token may have no term.
  for (let t = 0; t < shares.length; t++) if (weights[t] !== 0) shares[t] = factor * terms[t]! * weights[t]!;
  return shares;
}

function entropyShares(
  entropies: Float32Array,
  { weight, kept }: EntropyWeight,
  bonus: number,
): Float64Array {
  const shares = new Float64Array(entropies.length);
  for (let t = 0; t < shares.length; t++) if (kept?.[t] !== 0) shares[t] = -bonus * weight * entropies[t]!;
  return shares;
}

/** Sums the parts of each token's share; undefined where the policy's part is missing. */
export function wholeShares({ policy, kl, entropy }: TokenShares): Float64Array | undefined {
  const parts = [policy, kl, entropy].filter((part) => part !== undefined);
  const [first, ...others] = parts;
  if (!policy || !first) return undefined;
  return others.reduce((total, part) => total.map((value, t) => value + part[t]!), first);
}

/** Sums of a completion. */
export interface CompletionShares {
  index: number;
  policy: number;
  kl: number;
  entropy?: number;
}

/**
 * Returns the share of each completion in the loss of an update; undefined where the record lacks terms or weights.
 *
 * @param members - the completion of each row
 * @param entropyWeights - of the rows; those of the record when not given
 */
export function completionShares(
  record: StepRecord,
  update: UpdateRecord,
  members: readonly number[] = membersOf(record, update),
  entropyWeights?: readonly EntropyWeight[] | string,
): CompletionShares[] | undefined {
  if (!update.policyTerms || !update.weights) return undefined;
  const shares = sharesOf(record, update, entropyWeights);
  return members.map((index, row) => {
    const { policy, kl, entropy } = shares(row);
    return {
      index,
      policy: sum(policy ?? []),
      kl: sum(kl ?? []),
      ...(entropy && { entropy: sum(entropy) }),
    };
  });
}
