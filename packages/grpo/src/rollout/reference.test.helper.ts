import type { SamplingOptions } from './completion.js';

/** The sampler's reference: plain, slow and in double precision. */
export function logSoftmax(logits: readonly number[], temperature = 1): number[] {
  const scaled = logits.map((x) => x / temperature);
  const max = scaled.reduce((a, b) => Math.max(a, b));
  const total = Math.log(scaled.reduce((sum, x) => sum + Math.exp(x - max), 0)) + max;
  return scaled.map((x) => x - total);
}

/** Logits after penalties on the tokens in `generated`, and without `forbidden` ones. */
export function adjust(
  logits: readonly number[],
  generated: readonly number[],
  forbidden: ReadonlySet<number>,
  options: SamplingOptions,
): number[] {
  const { repetitionPenalty, presencePenalty, frequencyPenalty } = options;
  return logits.map((x, id) => {
    if (forbidden.has(id)) return Number.NEGATIVE_INFINITY;
    const count = generated.filter((g) => g === id).length;
    if (count === 0) return x;
    const repeated = x > 0 ? x / repetitionPenalty : x * repetitionPenalty;
    return repeated - presencePenalty - frequencyPenalty * count;
  });
}

/**
 * Log-probabilities after temperature → top-k → top-p → min-p, as transformers orders them; −∞ for the others.
 * No two logits may be equal at a bound.
 */
export function truncated(
  logits: readonly number[],
  { temperature, topK, topP, minP }: SamplingOptions,
): number[] {
  const order = logits.map((_, id) => id).sort((a, b) => logits[b]! - logits[a]!);
  let kept = topK > 0 ? order.slice(0, topK) : order;
  const renormalized = () => {
    const logprobs = logSoftmax(
      kept.map((id) => logits[id]!),
      temperature,
    );
    return logprobs.map(Math.exp);
  };
  if (topP < 1) {
    let before = 0;
    const p = renormalized();
    kept = kept.filter((_, i) => {
      const stays = before < topP;
      before += p[i]!;
      return stays;
    });
  }
  if (minP > 0) {
    const p = renormalized();
    kept = kept.filter((_, i) => p[i]! >= minP * p[0]!);
  }
  const p = renormalized();
  const result = logits.map(() => Number.NEGATIVE_INFINITY);
  for (const [i, id] of kept.entries()) result[id] = Math.log(p[i]!);
  return result;
}
