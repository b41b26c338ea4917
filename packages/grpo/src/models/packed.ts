import { cat, scaledDotProductAttention, type Tensor, tensor } from '@grpo/torch';
import type { DecoderConfig } from './config.js';
import type { Attend, PackedTokens } from './decoder.js';

/** A run of tokens: it sees all of its parent, which lies before it, and itself up to each token. */
export interface Segment {
  ids: readonly number[];
  /** Index of the segment that this one continues, such as a group's prompt. */
  parent?: number;
}

/** One attention call: neighbouring segments of one parent, kept apart by a mask. */
interface Block {
  start: number;
  length: number;
  parent: { start: number; length: number } | undefined;
  /** `[length, parent + length]`, true where a query may look; absent for one plain causal segment. */
  mask: Tensor | undefined;
}

// Short segments share a call, long ones get their own: a mask over many long ones would waste most of its work.
const BLOCK_TOKENS = 128;

/** Segments as packed tokens, and the attention that keeps them apart. */
export interface Packed extends PackedTokens {
  /** First token of each segment. */
  starts: number[];
  attend: Attend;
}

/**
 * Packs segments one after another. Children of one parent must be neighbours; a parent has no parent itself.
 * The result belongs to the running `tidy` scope.
 */
export function pack(segments: readonly Segment[], config: DecoderConfig, device: string): Packed {
  const starts: number[] = [];
  const positions: number[] = [];
  const ids: number[] = [];
  for (const { ids: own, parent } of segments) {
    starts.push(ids.length);
    const offset = parent === undefined ? 0 : segments[parent]!.ids.length;
    for (let i = 0; i < own.length; i++) {
      ids.push(own[i]!);
      positions.push(offset + i);
    }
  }
  const blocks = plan(segments, starts, device);
  return {
    ids_N: tensor(ids, undefined, { dtype: 'int64', device }),
    positions_N: tensor(positions, undefined, { dtype: 'int64', device }),
    starts,
    attend: (_layer, q, k, v) => {
      const keys = repeatHeads(k, config);
      const values = repeatHeads(v, config);
      return cat(
        blocks.map((block) => attendBlock(block, q, keys, values)),
        0,
      );
    },
  };
}

function plan(segments: readonly Segment[], starts: number[], device: string): Block[] {
  const blocks: Block[] = [];
  for (let first = 0; first < segments.length; ) {
    const { parent } = segments[first]!;
    let length = segments[first]!.ids.length;
    let next = first + 1;
    while (
      next < segments.length &&
      segments[next]!.parent === parent &&
      length + segments[next]!.ids.length <= BLOCK_TOKENS
    ) {
      length += segments[next]!.ids.length;
      next++;
    }
    if (length > 0) {
      const shared =
        parent === undefined ? undefined : { start: starts[parent]!, length: segments[parent]!.ids.length };
      const plain = next === first + 1 && !shared;
      const lengths = segments.slice(first, next).map((s) => s.ids.length);
      blocks.push({
        start: starts[first]!,
        length,
        parent: shared,
        mask: plain ? undefined : blockMask(lengths, shared?.length ?? 0, device),
      });
    }
    first = next;
  }
  return blocks;
}

/** True where a query of a segment may look: all of the parent, and its own segment up to itself. */
function blockMask(lengths: number[], parent: number, device: string): Tensor {
  const rows = lengths.reduce((a, b) => a + b, 0);
  const width = parent + rows;
  const allowed = new Uint8Array(rows * width);
  let start = 0;
  for (const length of lengths) {
    for (let i = 0; i < length; i++) {
      const row = (start + i) * width;
      allowed.fill(1, row, row + parent);
      allowed.fill(1, row + parent + start, row + parent + start + i + 1);
    }
    start += length;
  }
  return tensor(allowed, [rows, width], { dtype: 'bool', device });
}

function attendBlock(block: Block, q: Tensor, k: Tensor, v: Tensor): Tensor {
  const own = (x: Tensor) => x.narrow(0, block.start, block.length);
  const seen = (x: Tensor) =>
    block.parent ? cat([x.narrow(0, block.parent.start, block.parent.length), own(x)], 0) : own(x);
  // [length, heads, headDim] → [1, heads, length, headDim]
  const batched = (x: Tensor) => x.transpose(0, 1).unsqueeze(0);
  const out = scaledDotProductAttention(
    batched(own(q)),
    batched(seen(k)),
    batched(seen(v)),
    block.mask ?? null,
    0,
    !block.mask,
  );
  return out.squeeze(0).transpose(0, 1);
}

/** Each key or value head once for every query head that it serves. */
function repeatHeads(x: Tensor, { heads, kvHeads, headDim }: DecoderConfig): Tensor {
  if (heads === kvHeads) return x;
  return x
    .unsqueeze(2)
    .expand([-1, -1, heads / kvHeads, -1])
    .reshape([-1, heads, headDim]);
}
