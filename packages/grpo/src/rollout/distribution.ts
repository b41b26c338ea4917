import { searchsorted, type Tensor, tensor } from '@grpo/torch';
import type { SamplingOptions } from './completion.js';

/** Tokens drawn for `n` rows, with their log-probabilities. */
export interface Draw {
  tokens: number[];
  /** Under softmax(logits / temperature). */
  logprobs: Float32Array;
  /** Under the distribution drawn from. */
  sampledLogprobs: Float32Array;
}

// Rows are cut to this many candidates before a nucleus is looked for; sorting a whole vocabulary is slow.
const CANDIDATES = 1024;
const BELOW_ONE = 1 - 2 ** -24;

/**
 * Draws one token a row by inverting the cumulative distribution.
 *
 * @param logits - `[n, V]` float32, of the model
 * @param adjusted - `[n, V]`, the logits after penalties and forbidden tokens; the same tensor when there are none
 * @param uniforms - one number in [0, 1) a row; not read at temperature 0
 */
export function draw(logits: Tensor, adjusted: Tensor, uniforms: readonly number[], options: SamplingOptions): Draw {
  const { temperature } = options;
  if (temperature === 0) {
    const tokens = adjusted.argmax(-1, true);
    return read(tokens, logits.logSoftmax(-1).gather(1, tokens), undefined);
  }
  const plain = scaled(logits, temperature).logSoftmax(-1);
  const wide = adjusted === logits ? plain : scaled(adjusted, temperature).logSoftmax(-1);
  const { logprobs, indices } = truncate(wide, options);
  const cumulative = logprobs.exp().cumsum(-1);
  const total = cumulative.narrow(-1, cumulative.size(-1) - 1, 1);
  const u = tensor(uniforms.map((x) => Math.min(x, BELOW_ONE)), [uniforms.length, 1], { device: logits.device });
  const places = searchsorted(cumulative, u.mul(total), { right: true });
  const tokens = indices ? indices.gather(1, places) : places;
  const sampled = wide === plain && !indices && options.minP === 0 ? undefined : logprobs.gather(1, places).sub(total.log());
  return read(tokens, plain.gather(1, tokens), sampled);
}

const scaled = (logits: Tensor, temperature: number) => (temperature === 1 ? logits : logits.div(temperature));

function read(tokens: Tensor, logprobs: Tensor, sampled: Tensor | undefined): Draw {
  const plain = logprobs.toTypedArray() as Float32Array;
  return {
    tokens: tokens.toNumbers(),
    logprobs: plain,
    sampledLogprobs: sampled ? (sampled.toTypedArray() as Float32Array) : plain,
  };
}

/** Top-k, then top-p, then min-p; what falls out has log-probability −∞. `indices` when the columns were reordered. */
function truncate(logprobs: Tensor, { topK, topP, minP }: SamplingOptions): { logprobs: Tensor; indices?: Tensor } {
  let kept = logprobs;
  let indices: Tensor | undefined;
  if (topK > 0 && topK < logprobs.size(-1)) [kept, indices] = logprobs.topk(topK);
  if (topP < 1) {
    if (!indices) [kept, indices] = sorted(kept, topP);
    const p = kept.softmax(-1);
    // A token stays when the likelier ones before it do not reach the mass yet.
    const before = p.cumsum(-1).sub(p);
    kept = kept.maskedFill(before.ge(topP), Number.NEGATIVE_INFINITY);
  }
  if (minP > 0) kept = kept.maskedFill(kept.lt(kept.amax([-1], true).add(Math.log(minP))), Number.NEGATIVE_INFINITY);
  return { logprobs: kept, indices };
}

/** Columns by falling probability: as many as hold `mass` in every row, or all of them. */
function sorted(logprobs: Tensor, mass: number): [Tensor, Tensor] {
  if (logprobs.size(-1) > 2 * CANDIDATES) {
    const [top, indices] = logprobs.topk(CANDIDATES);
    if (top.exp().sumDim([-1]).amin([]).item() >= mass) return [top, indices];
  }
  return logprobs.sort(-1, true);
}
