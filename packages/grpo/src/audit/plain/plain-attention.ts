/**
 * Eager attention of the second decoder, some queries at a time: their scores are computed again for the backward pass, so
 * that no sequence is too long for them.
 */
import { cat, grad, noGrad, ones, type Tensor, tidy } from '@grpo/torch';
import type { PlainTensors } from './plain-tensors.js';

/** Queries, keys and values of one sequence, each `[heads, L, headDim]`; several queries may share the heads of a key. */
export type Heads = readonly [queries: Tensor, keys: Tensor, values: Tensor];

/** Scores that are there at once. */
const SCORES = 2 ** 24;

/** Queries whose scores are there at once: at least one. */
export const queriesAtOnce = (heads: number, length: number): number =>
  Math.min(length, Math.max(1, Math.floor(SCORES / (heads * length))));

/**
 * Each query sees the keys of the last `window` places up to its own, or both ways all.
 *
 * @returns `[L, heads × headDim]`
 */
export const attended = (tensors: PlainTensors, heads: Heads, window: number): Tensor =>
  tidy(() => cat(blocksOf(heads).map((block) => attendedFrom(tensors, heads, window, block))));

/** Slopes in queries, keys and values, from those in what `attended` gives. */
export function attendedSlopes(
  tensors: PlainTensors,
  heads: Heads,
  window: number,
  slopes: Tensor,
): readonly Tensor[] {
  const leaves = heads.map((x) => x.detach()) as [Tensor, Tensor, Tensor];
  const sums = leaves.map((x) => x.zerosLike());
  for (const leaf of leaves) leaf.requiresGrad = true;
  for (const block of blocksOf(heads))
    tidy(() => {
      const mixed = attendedFrom(tensors, leaves, window, block);
      const own = grad([mixed], leaves, [slopes.narrow(0, block.start, block.count)]);
      noGrad(() => {
        for (const [i, sum] of sums.entries()) sum.add_(own[i]!);
      });
    });
  return sums;
}

/** Neighbouring queries. */
interface Block {
  start: number;
  count: number;
}

function blocksOf([queries]: Heads): Block[] {
  const [heads, length] = queries.shape as [number, number];
  const most = queriesAtOnce(heads, length);
  const blocks: Block[] = [];
  for (let start = 0; start < length; start += most)
    blocks.push({ start, count: Math.min(most, length - start) });
  return blocks;
}

/** Attention of a block of queries, `[count, heads × headDim]`. */
function attendedFrom(
  tensors: PlainTensors,
  [queries, keys, values]: Heads,
  window: number,
  { start, count }: Block,
): Tensor {
  const { bothWays, scoreScale, scoreCap } = tensors.shape;
  const served = queries.size(0) / keys.size(0);
  const seenKeys = bothWays ? keys.size(1) : start + count;
  const spread = (x: Tensor) => {
    const seen = x.narrow(1, 0, seenKeys);
    return served === 1 ? seen : seen.repeatInterleave(served, 0);
  };
  const unseen = () => {
    const all = ones([count, seenKeys], { dtype: 'bool', device: queries.device });
    const past = all.tril(start);
    const near = window < seenKeys ? past.logicalAnd(all.tril(start - window).logicalNot()) : past;
    return near.logicalNot();
  };
  // Frees the scores: the backward pass needs the weights only.
  return tidy(() => {
    const own = queries.narrow(1, start, count);
    const scores = capped(own.matmul(spread(keys).transpose(1, 2)).mul_(scoreScale), scoreCap);
    const seen = bothWays ? scores : scores.maskedFill_(unseen(), Number.NEGATIVE_INFINITY);
    const weights = seen.softmax(-1);
    const mixed = weights.matmul(spread(values));
    const rounded = tensors.rounded(mixed);
    const out = rounded === mixed ? mixed : rounded.sub(bent(seen, rounded.sub(mixed).detach()));
    return out.transpose(0, 1).reshape([count, -1]);
  });
}

/**
 * 0, with the slopes that a rounded output gives the scores `[heads, count, L]`: kernels take Σ output × its gradient for
 * the sum over the keys, of which the slopes of a query that sees one key almost alone are a small difference.
 *
 * @param rounding - what rounding added to the output, `[heads, count, headDim]`
 */
export function bent(scores: Tensor, rounding: Tensor): Tensor {
  const mass = scores.logsumexp([-1], true);
  return rounding.mul(mass.sub(mass.detach()));
}

/** c·tanh(x / c). */
export const capped = (x: Tensor, cap: number): Tensor => (cap === Infinity ? x : x.div(cap).tanh().mul(cap));
