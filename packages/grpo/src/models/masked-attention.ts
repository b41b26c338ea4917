import { cat, ones, scaledDotProductAttention, type Tensor, tensor } from '@grpo/torch';
import type { DecoderConfig } from './config.js';
import type { Span } from './segment.js';

/** What becomes of a layer's scores, as our own operators of attention take it: a window or soft cap of 0 is none. */
export interface Scores {
  /** Factor of the products of queries and keys. */
  scale: number;
  /** A query sees so many positions, the last of which is its own. */
  window: number;
  /** Scores x become c·tanh(x / c). */
  softcap: number;
}

/** @param longest - tokens of the longest sequence, where that is known: a window that holds it is none */
export function scoresOf(
  { attention, attentionScale, attentionSoftcap = 0 }: DecoderConfig,
  layer: number,
  longest = Number.POSITIVE_INFINITY,
): Scores {
  const { window = longest } = attention[layer]!;
  return { scale: attentionScale, window: window < longest ? window : 0, softcap: attentionSoftcap };
}

/** The different windows of all layers, 0 for none. */
export const windowsOf = (config: DecoderConfig, longest: number): ReadonlySet<number> =>
  new Set(config.attention.map((_, layer) => scoresOf(config, layer, longest).window));

/** One attention call: neighbouring segments of one parent or a part of one, kept apart by a mask. */
export interface Block {
  /** Its queries. */
  start: number;
  length: number;
  /** The tokens whose keys some of them see. */
  seen: readonly { start: number; length: number }[];
  /** `[length, keys]`, true where a query may look; absent for one plain causal segment. */
  mask: Tensor | undefined;
}

// Short segments share a call, long ones get their own: a mask over many long ones would waste most of its work.
const BLOCK_TOKENS = 128;

/** The calls for these segments. */
export function planBlocks(spans: readonly Span[], device: string, window: number): Block[] {
  const blocks: Block[] = [];
  for (let first = 0; first < spans.length; ) {
    const { parent } = spans[first]!;
    let { length } = spans[first]!;
    let next = first + 1;
    while (
      next < spans.length &&
      spans[next]!.parent === parent &&
      length + spans[next]!.length <= BLOCK_TOKENS
    ) {
      length += spans[next]!.length;
      next++;
    }
    const parts = spans.slice(first, next).map((span) => ({ span, from: 0, to: span.length }));
    // With a window, a part of a long segment does not see all that is before it.
    const most = window > 0 ? Math.max(window, BLOCK_TOKENS) : length;
    for (let from = 0; from < length; from += most)
      blocks.push(
        blockOf(from === 0 && length <= most ? parts : [partOf(spans[first]!, from, most)], device, window),
      );
    first = next;
  }
  return blocks;
}

/** Queries of a segment. */
interface Part {
  span: Span;
  from: number;
  to: number;
}

const partOf = (span: Span, from: number, most: number): Part => ({
  span,
  from,
  to: Math.min(from + most, span.length),
});

/** @param parts - whole segments of one parent, or a part of one */
function blockOf(parts: readonly Part[], device: string, window: number): Block {
  const [{ span, from }, last] = [parts[0]!, parts.at(-1)!];
  const parent = span.parent?.length ?? 0;
  /** The first position that a query sees. */
  const oldest = (position: number) => (window > 0 ? Math.max(0, position + 1 - window) : 0);
  const parentFrom = Math.min(oldest(parent + from), parent);
  const ownStart = span.start + Math.max(0, oldest(parent + from) - parent);
  const own = { start: ownStart, length: last.span.start + last.to - ownStart };
  const start = span.start + from;
  const length = last.span.start + last.to - start;
  const shared = parent - parentFrom;
  const seen = shared > 0 ? [{ start: span.parent!.start + parentFrom, length: shared }, own] : [own];
  const isPlain = parts.length === 1 && parent === 0 && oldest(last.to - 1) === 0;
  if (isPlain) return { start, length, seen, mask: undefined };
  const width = shared + own.length;
  const allowed = new Uint8Array(length * width);
  let row = 0;
  for (const { span, from, to } of parts)
    for (let i = from; i < to; i++, row += width) {
      const past = oldest(parent + i);
      const firstOwn = shared + span.start - ownStart;
      allowed.fill(1, row + Math.min(Math.max(0, past - parentFrom), shared), row + shared);
      allowed.fill(1, row + firstOwn + Math.max(0, past - parent), row + firstOwn + i + 1);
    }
  return { start, length, seen, mask: tensor(allowed, [length, width], { dtype: 'bool', device }) };
}

/** Segment attention of libtorch's operators. */
export function attendBlocks(
  blocks: readonly Block[],
  [q, k, v]: readonly [Tensor, Tensor, Tensor],
  config: DecoderConfig,
  scores: Scores,
): Tensor {
  const keys = repeatHeads(k, config);
  const values = repeatHeads(v, config);
  return cat(
    blocks.map((block) => attendBlock(block, [q, keys, values], scores)),
    0,
  );
}

function attendBlock(
  { start, length, seen, mask }: Block,
  [q, k, v]: readonly [Tensor, Tensor, Tensor],
  { scale, softcap }: Scores,
): Tensor {
  const ofSeen = (x: Tensor) => {
    const parts = seen.map((run) => x.narrow(0, run.start, run.length));
    return parts.length === 1 ? parts[0]! : cat(parts, 0);
  };
  // [length, heads, headDim] → [1, heads, length, headDim]
  const batched = (x: Tensor) => x.transpose(0, 1).unsqueeze(0);
  const [query, key, value] = [q.narrow(0, start, length), ofSeen(k), ofSeen(v)].map(batched) as [
    Tensor,
    Tensor,
    Tensor,
  ];
  const out =
    softcap > 0
      ? attendCapped([query, key, value], mask, { scale, softcap })
      : scaledDotProductAttention(query, key, value, mask ?? null, 0, !mask, { scale });
  return out.squeeze(0).transpose(0, 1);
}

/** The same with soft caps, which libtorch's attention does not know; without a mask it is causal. */
function attendCapped(
  [q, k, v]: readonly [Tensor, Tensor, Tensor],
  mask: Tensor | undefined,
  scores: Pick<Scores, 'scale' | 'softcap'>,
): Tensor {
  const length = q.size(-2);
  const seen = mask ?? ones([length, length], { dtype: 'bool', device: q.device }).tril();
  const weights = capped(widened(q).matmul(widened(k).transpose(-2, -1)), scores)
    .maskedFill(seen.logicalNot(), Number.NEGATIVE_INFINITY)
    .softmax(-1);
  return weights.to(v.dtype).matmul(v);
}

/** Products of queries and keys as soft-capped scores, in float32 at least. */
export const capped = (products: Tensor, { scale, softcap }: Pick<Scores, 'scale' | 'softcap'>): Tensor =>
  widened(products)
    .mul(scale / softcap)
    .tanh()
    .mul(softcap);

const widened = (x: Tensor): Tensor => (x.dtype === 'float64' ? x : x.to('float32'));

/** Each key or value head once for every query head that it serves. */
export function repeatHeads(x: Tensor, { heads, kvHeads, headDim }: DecoderConfig): Tensor {
  if (heads === kvHeads) return x;
  return x
    .unsqueeze(2)
    .expand([-1, -1, heads / kvHeads, -1])
    .reshape([-1, heads, headDim]);
}
