import type { DeclaredSection } from '../../trace/index.js';
import type { Form } from './form.js';
import type { Kept } from './masks.js';
import { advantageOf, dppoWeightOf, type PolicyRow, vespoWeightOf } from './policy-term.js';
import { gapOf, isTrained, meanOver, type Row, sumOver } from './row.js';

/** One completion of an update, as its loss takes it. */
export interface LossRow extends Row {
  entropies: Float32Array;
  reference?: Float32Array | undefined;
  sampler?: Float32Array | undefined;
  advantage: number;
  /** Weight of the KL to the reference. */
  beta: number;
  /** Of the tokens of highest entropy; all are kept when missing. */
  top?: Kept | undefined;
}

/** By how much the loss changes with each token's log-prob, and with its entropy. */
export interface Slopes {
  logprobs: Float64Array;
  entropies: Float64Array;
}

/**
 * Slopes of Σ factor × policy term in the log-probs.
 *
 * @param factors - of the terms of the tokens, 0 where one is not trained on
 * @param corrections - for the sampler, which `vespo` has in its weight
 */
export function policySlopes(
  { policy, ratio }: Form,
  objective: DeclaredSection<'objective'>,
  row: PolicyRow,
  factors: Float64Array,
  corrections: Float64Array | undefined,
): Float64Array {
  const { ratios } = row;
  const { cap = Number.POSITIVE_INFINITY } = objective;
  const each = (slope: (t: number, A: number) => number) =>
    factors.map((factor, t) => (factor === 0 ? 0 : factor * slope(t, advantageOf(row, t))));
  switch (policy) {
    case 'reinforce':
      return each((_, A) => -A);
    case 'cispo':
      return each((t, A) => -Math.min(ratios[t]!, cap) * A);
    case 'vespo': {
      const weight = vespoWeightOf(objective, row, corrections);
      return each((_, A) => -weight * A);
    }
    case 'dppo_tv':
    case 'dppo_kl':
      return each((t, A) => -dppoWeightOf(policy, objective, row, t) * A);
    case 'gmpo':
      return gmpoSlopes(objective, row, factors);
    case 'clip':
      return throughRatio(
        ratio,
        row,
        each((t, A) => clipSlope(objective, ratios[t]!, A)),
      );
    case 'sapo':
      return throughRatio(
        ratio,
        row,
        each((t, A) => {
          const slope = A > 0 ? objective.slopePositive! : objective.slopeNegative!;
          const gate = 1 / (1 + Math.exp(slope * (1 - ratios[t]!)));
          return -4 * A * gate * (1 - gate);
        }),
      );
  }
}

/** Slope of −min(min(r, δ) A, clip(r) A) in r; where the two are equal, the mean of theirs. */
function clipSlope(
  { clipLow = 0, clipHigh = clipLow, delta = Number.POSITIVE_INFINITY }: DeclaredSection<'objective'>,
  ratio: number,
  A: number,
): number {
  const free = { value: Math.min(ratio, delta) * A, slope: ratio <= delta ? A : 0 };
  const inside = ratio >= 1 - clipLow && ratio <= 1 + clipHigh;
  const bounded = {
    value: Math.max(1 - clipLow, Math.min(1 + clipHigh, ratio)) * A,
    slope: inside ? A : 0,
  };
  if (free.value === bounded.value) return -(free.slope + bounded.slope) / 2;
  return -(free.value < bounded.value ? free : bounded).slope;
}

/** Slopes in the log-probs from slopes in the ratios: of a whole completion each token moves the mean. */
export function throughRatio(
  level: Form['ratio'],
  row: Row & { ratios: ArrayLike<number> },
  slopes: Float64Array,
): Float64Array {
  const { mask, ratios } = row;
  if (level !== 'sequence') return slopes.map((slope, t) => slope * ratios[t]!);
  const { sum, count } = sumOver(slopes.length, mask, (t) => slopes[t]! * ratios[t]!);
  return slopes.map((_, t) => (isTrained(mask, t) ? sum / count : 0));
}

/** −A exp(mean of clipped log-ratios) for every token: each that is not clipped moves the mean. */
function gmpoSlopes(
  { clipLow = 0, clipHigh = clipLow }: DeclaredSection<'objective'>,
  row: PolicyRow,
  factors: Float64Array,
): Float64Array {
  const { mask, top } = row;
  const { length } = factors;
  if (top?.close.includes(1)) return factors.map(() => Number.NaN);
  const kept = top ? top.kept : mask;
  const { count } = sumOver(length, kept, () => 0);
  const isUp = (t: number) => advantageOf(row, t) > 0;
  const mean = meanOver(length, kept, (t) =>
    isUp(t) ? Math.min(gapOf(row, t), clipHigh) : Math.max(gapOf(row, t), -clipLow),
  );
  const total = factors.reduce((sum, factor, t) => sum - factor * advantageOf(row, t), 0);
  const isFree = (t: number) => (isUp(t) ? gapOf(row, t) <= clipHigh : gapOf(row, t) >= -clipLow);
  return factors.map((_, t) =>
    isTrained(kept, t) && isTrained(mask, t) && isFree(t) ? (total * Math.exp(mean)) / count : 0,
  );
}
