/** The KL to the reference, as `objective/kl.ts` has it. */
import type { DeclaredSection } from '../../trace/index.js';
import { type Row, sumOver } from './row.js';

/** Estimates from d = log π − log π_ref (Schulman, 2020). */
export const ESTIMATES: Readonly<Record<string, (d: number) => number>> = {
  k1: (d) => d,
  k2: (d) => (d * d) / 2,
  k3: (d) => Math.expm1(-d) + d,
  abs: (d) => Math.abs(d),
};

/** What cannot be negative; of k1 only the mean is. */
export const isNonnegative = (estimator: string | undefined): boolean =>
  /^(k2|k3|abs|full)$/.test(estimator ?? '');

export interface KlRow extends Row {
  reference: Float32Array;
  /** Policy to old policy; needed for a KL that is multiplied by it. */
  ratios?: ArrayLike<number> | undefined;
}

/** The KL of each token, at the declared level, by one of the estimates. */
export function klTermsOf(
  estimator: string,
  { level = 'token', clip = Number.POSITIVE_INFINITY, biasCorrected = false }: DeclaredSection<'kl'>,
  { policy, reference, mask, ratios }: KlRow,
): Float64Array {
  const { length } = policy;
  const gap = (t: number) => policy[t]! - reference[t]!;
  const { sum: total, count } = level === 'token' ? { sum: 0, count: 0 } : sumOver(length, mask, gap);
  const whole = level === 'sequence_sum' ? total : total / Math.max(count, 1);
  const estimate = ESTIMATES[estimator]!;
  const terms = new Float64Array(length);
  for (let t = 0; t < length; t++) {
    const d = level === 'token' ? gap(t) : whole;
    const term = estimate(Math.max(-clip, Math.min(clip, d)));
    terms[t] = biasCorrected ? term * ratios![t]! : term;
  }
  return terms;
}
