/**
 * The loss by the book, in plain numbers: terms without a gradient are computed at `frozen`, the others at `at`.
 * Its slope in `at` is what the gradient should be, also of a loss with stopped gradients.
 */
import { type Batch, type Point, updateOf } from './batch.test.helper.js';
import type { LossSettings } from './settings.js';

interface Completion {
  /** Places of its trained tokens. */
  tokens: number[];
  advantage: number;
  beta: number;
}

const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
const mean = (values: readonly number[]) => sum(values) / Math.max(values.length, 1);
const bounded = (x: number, least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY) =>
  Math.min(Math.max(x, least), most);

export function plainLoss(
  batch: Batch,
  settings: LossSettings,
  entropyCoefficient: number,
  at: Point,
  frozen: Point = at,
): number {
  const size = updateOf(batch);
  const completions = completionsOf(batch);
  const kept = keptTokens(settings, completions, frozen);
  const trained = sum(completions.map(({ tokens }) => tokens.length));
  const weight = ({ tokens: { length } }: Completion) =>
    ({
      sequence_mean: 1 / (length * size.completions),
      token_mean: 1 / size.tokens,
      micro_token_mean: completions.length / size.completions / trained,
      constant: 1 / (size.completions * settings.normalizer),
      sum: 1 / size.completions,
    })[settings.aggregation];
  let loss = 0;
  for (const completion of completions) {
    const { tokens, beta } = completion;
    for (const t of tokens) {
      const policy = policyTerm(completion, t, batch, settings, kept, at, frozen);
      const kl = klTerm(completion, t, batch, settings, at, frozen);
      const isToken = settings.kl.level === 'token';
      const klWeight = isToken ? weight(completion) : 1 / (tokens.length * size.completions);
      loss += weight(completion) * policy + beta * klWeight * kl;
    }
  }
  const share = trained / size.tokens / Math.max(kept.size, 1);
  return loss - entropyCoefficient * share * sum([...kept].map((t) => at.entropies[t]!));
}

function completionsOf({ lengths, mask, advantages, betas }: Batch): Completion[] {
  let start = 0;
  return lengths.map((length, b) => {
    const all = Array.from({ length }, (_, t) => start + t);
    start += length;
    return {
      tokens: all.filter((t) => !mask || mask[t] === 1),
      advantage: advantages[b]!,
      beta: betas[b]!,
    };
  });
}

/** The tokens of highest entropy. */
function keptTokens(
  { entropy: { topShare } }: LossSettings,
  completions: readonly Completion[],
  { entropies }: Point,
) {
  const tokens = completions.flatMap((completion) => completion.tokens);
  const sorted = tokens.map((t) => entropies[t]!).sort((a, b) => a - b);
  const place = (1 - topShare) * (sorted.length - 1);
  const [below, above] = [sorted[Math.floor(place)]!, sorted[Math.ceil(place)]!];
  const threshold = below + (above - below) * (place % 1);
  return new Set(tokens.filter((t) => topShare === 1 || entropies[t]! >= threshold));
}

/** log policy − log old policy, for one token. */
const gapOf = (batch: Batch, t: number, { logprobs }: Point, frozen: Point) =>
  logprobs[t]! - (batch.old ?? frozen.logprobs)[t]!;

function logRatio({ tokens }: Completion, t: number, batch: Batch, level: string, at: Point, frozen: Point) {
  const gap = (place: number, point: Point) => gapOf(batch, place, point, frozen);
  if (level === 'sequence') return mean(tokens.map((place) => gap(place, at)));
  if (level !== 'sequence_token') return gap(t, at);
  return mean(tokens.map((place) => gap(place, frozen))) + gap(t, at) - gap(t, frozen);
}

function policyTerm(
  completion: Completion,
  t: number,
  batch: Batch,
  settings: LossSettings,
  kept: ReadonlySet<number>,
  at: Point,
  frozen: Point,
): number {
  const { tokens, advantage: A } = completion;
  const { policy, clipLow, clipHigh, delta, offPolicyThreshold: threshold } = settings;
  const ratioAt = (point: Point) => Math.exp(logRatio(completion, t, batch, settings.ratio, point, frozen));
  const gaps = tokens.filter((place) => kept.has(place)).map((place) => gapOf(batch, place, at, frozen));
  const correction = correctionOf(completion, t, batch, settings, frozen);
  const others = (p: number) => Math.max(1 - p, 1e-8);
  // Beyond its trust region a token is left out, if it went the way that its advantage pushes it.
  const dppo = (divergence: (p: number, old: number) => number) => {
    const gap = gapOf(batch, t, frozen, frozen);
    const p = Math.exp(frozen.logprobs[t]!);
    const distance = divergence(p, p * Math.exp(-gap));
    const bound = A > 0 ? settings.divergenceHigh : settings.divergenceLow;
    if (A * gap > 0 && distance > bound) return 0;
    return -Math.min(Math.exp(gap), settings.cap) * A * at.logprobs[t]!;
  };
  const terms = {
    clip: () => {
      const ratio = ratioAt(at);
      return -Math.min(bounded(ratio, undefined, delta) * A, bounded(ratio, 1 - clipLow, 1 + clipHigh) * A);
    },
    reinforce: () => -A * at.logprobs[t]!,
    cispo: () => -Math.min(ratioAt(frozen), settings.cap) * A * at.logprobs[t]!,
    sapo: () => {
      const slope = A > 0 ? settings.slopePositive : settings.slopeNegative;
      return ((-4 / slope) * A) / (1 + Math.exp(slope * (1 - ratioAt(at))));
    },
    vespo: () => -vespoWeight(completion, batch, settings, frozen) * A * at.logprobs[t]!,
    dppo_tv: () => dppo((p, old) => Math.abs(p - old)),
    dppo_kl: () =>
      dppo((p, old) => old * Math.log(old / p) + others(old) * Math.log(others(old) / others(p))),
    gmpo: () => -A * Math.exp(mean(gaps.map((d) => (A > 0 ? Math.min(d, clipHigh) : Math.max(d, -clipLow))))),
  };
  const fall = mean(tokens.map((place) => batch.sampler[place]! - frozen.logprobs[place]!));
  if (threshold !== undefined && A < 0 && fall > threshold) return 0;
  // The mean of gmpo is one over the tokens that are kept, the weight of vespo has the correction in it.
  if (policy !== 'gmpo' && !kept.has(t)) return 0;
  return terms[policy]() * (policy === 'vespo' ? 1 : correction);
}

function correctionOf(
  { tokens }: Completion,
  t: number,
  batch: Batch,
  settings: LossSettings,
  frozen: Point,
) {
  const { level, measure, action, min = 0, max = Number.POSITIVE_INFINITY } = settings.correction;
  if (level === 'off') return 1;
  const trainer = (place: number) => (batch.old ?? frozen.logprobs)[place]!;
  const gap = (place: number) => trainer(place) - batch.sampler[place]!;
  const ratios = tokens.map((place) => Math.exp(gap(place)));
  const binary = (p: number, q: number) => {
    const [others, othersOfQ] = [Math.max(1 - p, 1e-8), Math.max(1 - q, 1e-8)];
    return p * Math.log(p / q) + others * Math.log(others / othersOfQ);
  };
  const distances = tokens.map((place) => {
    const [p, q] = [Math.exp(trainer(place)), Math.exp(batch.sampler[place]!)];
    return {
      ratio: p / q,
      probability: Math.abs(p - q),
      k3: p / q - 1 - Math.log(p / q),
      binary_kl: Math.max(binary(p, q), binary(q, p)),
    }[measure];
  });
  const product = ratios.reduce((a, b) => a * b, 1);
  const measured = {
    token: distances[tokens.indexOf(t)]!,
    sequence: measure === 'ratio' ? product : sum(distances),
    sequence_mean: measure === 'ratio' ? product ** (1 / tokens.length) : mean(distances),
    sequence_max: Math.max(...distances),
  }[level];
  const isShared = measure === 'ratio' && (level === 'sequence' || level === 'sequence_mean');
  const weight = isShared ? measured : Math.exp(gap(t));
  if (action === 'truncate') return bounded(weight, min, max);
  if (measured < min || measured > max) return 0;
  return action === 'mask' ? weight : 1;
}

function vespoWeight(completion: Completion, batch: Batch, settings: LossSettings, frozen: Point) {
  const [k, lambda] = completion.advantage >= 0 ? settings.vespoPositive : settings.vespoNegative;
  const least = Math.log(1e-8);
  const own = sum(completion.tokens.map((t) => gapOf(batch, t, frozen, frozen)));
  const samplers = sum(
    completion.tokens.map((t) =>
      bounded(Math.log(correctionOf(completion, t, batch, settings, frozen)), least),
    ),
  );
  const log = bounded(own + samplers, least, 20);
  return Math.exp(k * log + lambda * (1 - Math.exp(log)));
}

function klTerm(
  completion: Completion,
  t: number,
  batch: Batch,
  settings: LossSettings,
  at: Point,
  frozen: Point,
) {
  const { estimator, level, biasCorrected, clip = Number.POSITIVE_INFINITY } = settings.kl;
  const atLevel = (of: (place: number) => number) => {
    if (level === 'token') return of(t);
    return (level === 'sequence_mean' ? mean : sum)(completion.tokens.map(of));
  };
  const d = bounded(
    atLevel((place) => batch.reference[place]! - at.logprobs[place]!),
    -clip,
    clip,
  );
  const estimates = {
    k1: () => -d,
    k2: () => d ** 2 / 2,
    k3: () => Math.exp(d) - d - 1,
    abs: () => Math.abs(d),
    full: () => atLevel((place) => at.fullKl[place]!),
  };
  const ratio = biasCorrected ? Math.exp(logRatio(completion, t, batch, settings.ratio, at, frozen)) : 1;
  return estimates[estimator]() * ratio;
}
