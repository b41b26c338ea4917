import type { DeclaredSection } from '../../trace/index.js';
import type { Form } from './form.js';
import { ESTIMATES } from './kl.js';
import { type LossRow, type Slopes, throughRatio } from './policy-slopes.js';
import { ratiosOf } from './ratio.js';
import { isTrained, sumOver } from './row.js';

/** Slopes of the estimates of the KL in d = log π − log π_ref. */
const SLOPES: Readonly<Record<string, (d: number) => number>> = {
  k1: () => 1,
  k2: (d) => d,
  k3: (d) => 1 - Math.exp(-d),
  abs: Math.sign,
};

/** Adds the slopes of weight × Σ KL to those of a completion. */
export function addKlSlopes(
  { logprobs }: Slopes,
  ratio: Form['ratio'],
  {
    estimator = 'k3',
    level = 'token',
    clip = Number.POSITIVE_INFINITY,
    biasCorrected,
  }: DeclaredSection<'kl'>,
  row: LossRow,
  weight: number,
): void {
  const { policy, reference, mask } = row;
  const { length } = policy;
  const gap = (t: number) => policy[t]! - reference![t]!;
  const { sum, count } = sumOver(length, mask, gap);
  const whole = level === 'sequence_sum' ? sum : sum / Math.max(count, 1);
  const ratios = ratiosOf(ratio, row);
  // By the KL itself, and by the ratio that multiplies it.
  const direct = new Float64Array(length);
  const byRatio = new Float64Array(length);
  for (let t = 0; t < length; t++) {
    if (!isTrained(mask, t)) continue;
    const d = level === 'token' ? gap(t) : whole;
    direct[t] = Math.abs(d) > clip ? 0 : weight * SLOPES[estimator]!(d) * (biasCorrected ? ratios[t]! : 1);
    byRatio[t] = biasCorrected ? weight * ESTIMATES[estimator]!(Math.max(-clip, Math.min(clip, d))) : 0;
  }
  const total = direct.reduce((all, slope) => all + slope, 0);
  const shared = level === 'sequence_sum' ? total : total / Math.max(count, 1);
  const indirect = throughRatio(ratio, { ...row, ratios }, byRatio);
  for (let t = 0; t < length; t++)
    if (isTrained(mask, t)) logprobs[t]! += (level === 'token' ? direct[t]! : shared) + indirect[t]!;
}
