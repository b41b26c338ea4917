import { drawTokens, searchsorted, type Tensor, tensor } from '@grpo/torch';
import { TokenSets } from '../formats/token-sets.js';
import type { SamplingOptions } from './completion.js';

/** Tokens drawn for `n` rows, with their log-probabilities. */
export interface Draw {
  tokens: number[];
  /** Under softmax(logits / temperature). */
  logprobs: Float32Array;
  /** Under the distribution drawn from. */
  sampledLogprobs: Float32Array;
  /** The ids that each could have been drawn from, where the options keep them and leave less than all. */
  support?: TokenSets;
}

// A nucleus is looked for among this many tokens first; sorting a whole vocabulary is slow.
const CANDIDATES = 1024;

/**
 * Draws one token per row by inverting the cumulative distribution. Log-probabilities are NaN where a row has no
 * distribution, because its logits are NaN or all are forbidden.
 *
 * @param logits - `[n, V]` float32, of the model
 * @param adjusted - `[n, V]`, the logits after penalties; the same tensor when there are none
 * @param uniforms - one number in [0, 1) a row; not read at temperature 0
 * @param forbidden - bool `[V]`, tokens that are not drawn
 */
export function draw(
  logits: Tensor,
  adjusted: Tensor,
  uniforms: readonly number[],
  options: SamplingOptions,
  forbidden?: Tensor,
): Draw {
  if (logits.device.startsWith('mps')) {
    // Metal has no float64, and only numbers leave here.
    const near = logits.toDevice('cpu');
    const changed = adjusted === logits ? near : adjusted.toDevice('cpu');
    return draw(near, changed, uniforms, options, forbidden?.toDevice('cpu'));
  }
  const { temperature } = options;
  const plain = adjusted === logits && (temperature === 0 || !truncates(options));
  if (plain && logits.device === 'cpu') return drawPlain(logits, uniforms, temperature, forbidden);
  const allowed = forbidden ? adjusted.maskedFill(forbidden, Number.NEGATIVE_INFINITY) : adjusted;
  return drawAdjusted(logits, allowed, uniforms, options);
}

/** Whether less than the whole distribution is drawn from. */
export const truncates = ({ topK, topP, minP }: SamplingOptions) => topK > 0 || topP < 1 || minP > 0;

/** From the model's own distribution, in one operator. */
function drawPlain(
  logits: Tensor,
  uniforms: readonly number[],
  temperature: number,
  forbidden: Tensor | undefined,
): Draw {
  // At temperature 0 none are given, and none are read.
  const numbers = temperature === 0 ? Array<number>(logits.size(0)).fill(0) : uniforms;
  const [tokens, logprobs, sampled] = drawTokens(logits, tensor(numbers, undefined, { dtype: 'float64' }), {
    temperature,
    forbidden: forbidden ?? null,
  });
  return {
    tokens: tokens.toNumbers(),
    logprobs: logprobs.toTypedArray() as Float32Array,
    sampledLogprobs: sampled.toTypedArray() as Float32Array,
  };
}

function drawAdjusted(
  logits: Tensor,
  adjusted: Tensor,
  uniforms: readonly number[],
  options: SamplingOptions,
): Draw {
  const { temperature } = options;
  if (temperature === 0) {
    const tokens = adjusted.argmax(-1, true);
    const certain = new Float32Array(tokens.numel);
    return { ...read(tokens, logits.logSoftmax(-1)), sampledLogprobs: certain };
  }
  const plain = scaled(logits, temperature).logSoftmax(-1);
  const wide = adjusted === logits ? plain : scaled(adjusted, temperature).logSoftmax(-1);
  const kept = truncate(wide, options);
  // Float64: in float32 the rounding of a parallel scan can leave room for a token of probability 0.
  const cumulative = kept.exp().cumsum(-1, { dtype: 'float64' });
  const last = cumulative.size(-1) - 1;
  const total = cumulative.narrow(-1, last, 1);
  const u = tensor(uniforms, [uniforms.length, 1], { dtype: 'float64', device: logits.device });
  const tokens = searchsorted(cumulative, u.mul(total), { right: true }).clamp(null, last);
  const drawn = read(tokens, plain);
  if (kept === plain) return { ...drawn, sampledLogprobs: drawn.logprobs };
  const sampled = kept.gather(1, tokens).sub(total.log()).to('float32');
  return {
    ...drawn,
    sampledLogprobs: sampled.toTypedArray() as Float32Array,
    ...(options.keepSupport && truncates(options) && { support: supportOf(kept) }),
  };
}

/** The ids of each row that are not −∞. */
function supportOf(kept: Tensor): TokenSets {
  const width = kept.size(-1);
  const isKept = kept.isfinite().toBytes();
  const idsOf = (row: number) =>
    Array.from(isKept.subarray(row * width, (row + 1) * width).entries(), ([id, has]) => (has ? id : -1));
  return TokenSets.of(Array.from({ length: kept.size(0) }, (_, row) => idsOf(row).filter((id) => id >= 0)));
}

const scaled = (logits: Tensor, temperature: number) =>
  temperature === 1 ? logits : logits.div(temperature);

const read = (tokens: Tensor, plain: Tensor) => ({
  tokens: tokens.toNumbers(),
  logprobs: plain.gather(1, tokens).toTypedArray() as Float32Array,
});

/**
 * Top-k, then top-p of the rest, then min-p, as transformers orders them; tokens that fall out have log-probability −∞.
 * A bound decides, not a place in an order, so equally likely tokens stay or go together.
 */
function truncate(logprobs: Tensor, { topK, topP, minP }: SamplingOptions): Tensor {
  let kept = logprobs;
  const keep = (x: Tensor, bound: Tensor) => {
    kept = kept.maskedFill(x.lt(bound), Number.NEGATIVE_INFINITY);
  };
  if (topK > 0 && topK < kept.size(-1)) keep(kept, kept.topk(topK)[0].narrow(-1, topK - 1, 1));
  if (topP < 1) {
    const p = kept.softmax(-1);
    keep(p, leastInNucleus(p, topP));
  }
  if (minP > 0) keep(kept, kept.amax([-1], true).add(Math.log(minP)));
  return kept;
}

/** The smallest probability in each row's nucleus of `mass`: `[n, V]` → `[n, 1]`. */
function leastInNucleus(p: Tensor, mass: number): Tensor {
  const falling = likeliest(p, mass);
  // A token belongs to the nucleus when the likelier ones before it do not reach the mass yet.
  const before = falling.cumsum(-1, { dtype: 'float64' }).sub(falling);
  return falling.maskedFill(before.ge(mass), Number.POSITIVE_INFINITY).amin([-1], true);
}

/** Each row's probabilities, falling: as many as hold `mass` in every row, or all of them. */
function likeliest(p: Tensor, mass: number): Tensor {
  if (p.size(-1) > 2 * CANDIDATES) {
    const [top] = p.topk(CANDIDATES);
    if (top.sumDim([-1], false, { dtype: 'float64' }).amin([]).item() >= mass) return top;
  }
  return p.sort(-1, true)[0];
}
