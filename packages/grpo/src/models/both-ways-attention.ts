import { cat, scaledDotProductAttention, type Tensor } from '@grpo/torch';
import type { DecoderConfig } from './config.js';
import { repeatHeads } from './masked-attention.js';
import type { Span } from './segment.js';

/** Attention in which every token of a segment sees the whole segment; neighbours of one length share a call. */
export function attendBothWays(
  spans: readonly Span[],
  [q, k, v]: readonly [Tensor, Tensor, Tensor],
  config: DecoderConfig,
): Tensor {
  const keys = repeatHeads(k, config);
  const values = repeatHeads(v, config);
  const parts = runsOfOneLength(spans).map(({ start, count, length }) => {
    // [count × length, heads, headDim] → [count, heads, length, headDim]
    const batched = (x: Tensor) =>
      x
        .narrow(0, start, count * length)
        .reshape([count, length, config.heads, config.headDim])
        .transpose(1, 2);
    const out = scaledDotProductAttention(batched(q), batched(keys), batched(values), null, 0, false, {
      scale: config.attentionScale,
    });
    return out.transpose(1, 2).reshape([count * length, config.heads, config.headDim]);
  });
  return cat(parts, 0);
}

function runsOfOneLength(spans: readonly Span[]): { start: number; count: number; length: number }[] {
  const runs: { start: number; count: number; length: number }[] = [];
  for (const { start, length } of spans) {
    const last = runs.at(-1);
    if (last?.length === length) last.count++;
    else if (length > 0) runs.push({ start, count: 1, length });
  }
  return runs;
}
