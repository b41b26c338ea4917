import { type Tensor, tensor, where, zeros } from '@grpo/torch';
import type { SamplingOptions } from './completion.js';

/** Whether the options change logits by the tokens that were generated before. */
export function hasPenalties(options: SamplingOptions): boolean {
  return options.repetitionPenalty !== 1 || options.presencePenalty !== 0 || options.frequencyPenalty !== 0;
}

/**
 * Lowers the logits of tokens that a completion holds already; the prompt's tokens do not count.
 *
 * @param logits - `[n, V]`
 * @param generated - ids so far, a row
 */
export function penalize(
  logits: Tensor,
  generated: readonly (readonly number[])[],
  options: SamplingOptions,
): Tensor {
  const { repetitionPenalty, presencePenalty, frequencyPenalty } = options;
  const vocab = logits.size(-1);
  const places = generated.flatMap((ids, row) => ids.map((id) => row * vocab + id));
  if (places.length === 0) return logits;
  const index = tensor(places, undefined, { dtype: 'int64', device: logits.device });
  const ones = tensor(new Float32Array(places.length).fill(1), undefined, { device: logits.device });
  const counts = zeros([generated.length * vocab], { device: logits.device })
    .scatterAdd_(0, index, ones)
    .view([-1, vocab]);
  const seen = counts.gt(0);
  const repeated = where(logits.gt(0), logits.div(repetitionPenalty), logits.mul(repetitionPenalty));
  return where(seen, repeated, logits)
    .sub(seen.to('float32').mul(presencePenalty))
    .sub(counts.mul(frequencyPenalty));
}
