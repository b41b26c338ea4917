/** Which tokens the policy term is kept for, as `objective/masks.ts` and `correction.ts` have it. */
import { largest } from '../../maths/moments.js';
import { quantile } from '../../maths/quantile.js';
import type { Declared, DeclaredSection } from '../../trace/index.js';
import { isTrained, meanOver, type Row, sumOver } from './row.js';

/** Whether a token is among those of highest entropy. */
export interface Kept {
  /** 1 or 0, token by token. */
  kept: Uint8Array;
  /** 1 where rounding may decide. */
  close: Uint8Array;
}

/**
 * The tokens of highest entropy of one micro-batch, row by row.
 *
 * @param share - how many of them are kept: those from the quantile 1 − share on
 */
export function topEntropyOf(
  share: number,
  entropies: readonly Float32Array[],
  masks: readonly (Uint8Array | undefined)[] | undefined,
): Kept[] {
  const known = Float64Array.from(
    entropies.flatMap((row, i) => [...row].filter((_, t) => isTrained(masks?.[i], t))),
  ).sort();
  const threshold = quantile(known, 1 - share);
  return entropies.map((row, i) => ({
    kept: Uint8Array.from(row, (entropy, t) => Number(isTrained(masks?.[i], t) && entropy >= threshold)),
    close: Uint8Array.from(row, (entropy) => Number(Math.abs(entropy - threshold) <= 1e-6)),
  }));
}

/** Bounds are not told apart by less, relatively. */
const CLOSE = 1e-3;

/**
 * 0 where a completion with a negative advantage has become too unlikely since it was sampled, else 1; NaN where
 * rounding decides.
 */
export function offPolicyFactor(
  threshold: number,
  { policy, old, mask }: Row,
  sampler: Float32Array | undefined,
  advantage: number,
): number {
  if (advantage >= 0) return 1;
  const sampled = sampler ?? old ?? policy;
  const fall = meanOver(policy.length, mask, (t) => sampled[t]! - policy[t]!);
  if (Math.abs(fall - threshold) <= 1e-5 + CLOSE * threshold) return Number.NaN;
  return fall > threshold ? 0 : 1;
}

/**
 * 1 for a token whose probability is as near to the old policy's as its bound wants, or moves against its advantage;
 * else 0. NaN where rounding decides.
 *
 * @param gap - log π − log π_old
 */
export function trustRegionFactor(
  policy: 'dppo_tv' | 'dppo_kl',
  { divergenceLow = 0, divergenceHigh = divergenceLow }: DeclaredSection<'objective'>,
  logprob: number,
  gap: number,
  advantage: number,
): number {
  if (advantage > 0 ? gap <= 0 : gap >= 0) return 1;
  const bound = advantage > 0 ? divergenceHigh : divergenceLow;
  const [now, old] = [Math.exp(logprob), Math.exp(logprob - gap)];
  const distance = policy === 'dppo_tv' ? Math.abs(now - old) : binaryKl(old, now);
  if (Math.abs(distance - bound) <= 1e-6 + CLOSE * bound) return Number.NaN;
  return distance > bound ? 0 : 1;
}

/** KL(p ‖ q) of a token and all others, from its two probabilities. */
function binaryKl(p: number, q: number): number {
  const [others, othersOfQ] = [Math.max(1 - p, 1e-8), Math.max(1 - q, 1e-8)];
  return p * Math.log(p / q) + others * Math.log(others / othersOfQ);
}

/** Whether tokens are weighed by how likely the trainer finds what the sampler drew. */
export const corrects = ({ correction }: Declared): boolean =>
  correction?.level !== undefined && correction.level !== 'off';

/** Trainer to sampler: the weight of each token; NaN where rounding decides whether it is masked. */
export function correctionsOf(
  {
    level,
    measure = 'ratio',
    action,
    min = 0,
    max = Number.POSITIVE_INFINITY,
  }: DeclaredSection<'correction'>,
  { policy, old, mask }: Row,
  sampler: Float32Array,
): Float64Array {
  const trainer = old ?? policy;
  const gap = (t: number) => trainer[t]! - sampler[t]!;
  const distance = (t: number) => distanceOf(measure, trainer[t]!, sampler[t]!);
  // Of ratios the logarithms are summed.
  const one = measure === 'ratio' ? gap : distance;
  const whole = wholeOf(level, policy.length, mask, one);
  const isShared = measure === 'ratio' && (level === 'sequence' || level === 'sequence_mean');
  return Float64Array.from(policy, (_, t) => {
    if (!isTrained(mask, t)) return 1;
    const value = whole ?? one(t);
    const measured = measure === 'ratio' ? Math.exp(value) : value;
    const weight = isShared ? measured : Math.exp(gap(t));
    if (action === 'truncate') return Math.max(min, Math.min(max, weight));
    const slack = measure === 'ratio' ? 0 : 1e-6;
    const bounds = measure === 'ratio' ? [min, max] : [max];
    if (bounds.some((bound) => Math.abs(measured - bound) <= CLOSE * bound + slack)) return Number.NaN;
    if ((measure === 'ratio' && measured < min) || measured > max) return 0;
    return action === 'reject' ? 1 : weight;
  });
}

/** One value for a completion; undefined where each token has its own. */
function wholeOf(
  level: DeclaredSection<'correction'>['level'],
  length: number,
  mask: Uint8Array | undefined,
  of: (token: number) => number,
): number | undefined {
  switch (level) {
    case 'sequence':
      return sumOver(length, mask, of).sum;
    case 'sequence_mean':
      return meanOver(length, mask, of);
    case 'sequence_max': {
      const trained = Array.from({ length }, (_, t) => t).filter((t) => isTrained(mask, t));
      return trained.length === 0 ? 0 : largest(trained.map(of));
    }
    default:
      return undefined;
  }
}

/** How far trainer and sampler are apart at a token, from its log-probs. */
function distanceOf(
  measure: DeclaredSection<'correction'>['measure'],
  trainer: number,
  sampler: number,
): number {
  const [p, q] = [Math.exp(trainer), Math.exp(sampler)];
  if (measure === 'probability') return Math.abs(p - q);
  if (measure === 'binary_kl') return Math.max(binaryKl(p, q), binaryKl(q, p));
  return Math.expm1(trainer - sampler) - (trainer - sampler);
}
