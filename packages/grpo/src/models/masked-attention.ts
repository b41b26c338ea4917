import { cat, scaledDotProductAttention, type Tensor, tensor } from '@grpo/torch';
import type { DecoderConfig } from './config.js';
import type { Span } from './segment.js';

/** One attention call: neighbouring segments of one parent, kept apart by a mask. */
export interface Block {
  start: number;
  length: number;
  parent: Span | undefined;
  /** `[length, parent + length]`, true where a query may look; absent for one plain causal segment. */
  mask: Tensor | undefined;
}

// Short segments share a call, long ones get their own: a mask over many long ones would waste most of its work.
const BLOCK_TOKENS = 128;

/** The calls for these segments. */
export function planBlocks(spans: readonly Span[], device: string): Block[] {
  const blocks: Block[] = [];
  for (let first = 0; first < spans.length; ) {
    const { start, parent } = spans[first]!;
    let length = spans[first]!.length;
    let next = first + 1;
    while (
      next < spans.length &&
      spans[next]!.parent === parent &&
      length + spans[next]!.length <= BLOCK_TOKENS
    ) {
      length += spans[next]!.length;
      next++;
    }
    if (length > 0) {
      const plain = next === first + 1 && !parent;
      const lengths = spans.slice(first, next).map((span) => span.length);
      const mask = plain ? undefined : blockMask(lengths, parent?.length ?? 0, device);
      blocks.push({ start, length, parent, mask });
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

/** Segment attention of libtorch's operators. */
export function attendBlocks(
  blocks: readonly Block[],
  [q, k, v]: readonly [Tensor, Tensor, Tensor],
  config: DecoderConfig,
): Tensor {
  const keys = repeatHeads(k, config);
  const values = repeatHeads(v, config);
  return cat(
    blocks.map((block) => attendBlock(block, q, keys, values)),
    0,
  );
}

function attendBlock(block: Block, q: Tensor, k: Tensor, v: Tensor): Tensor {
  const inBlock = (x: Tensor) => x.narrow(0, block.start, block.length);
  const seen = (x: Tensor) =>
    block.parent ? cat([x.narrow(0, block.parent.start, block.parent.length), inBlock(x)], 0) : inBlock(x);
  // [length, heads, headDim] → [1, heads, length, headDim]
  const batched = (x: Tensor) => x.transpose(0, 1).unsqueeze(0);
  const out = scaledDotProductAttention(
    batched(inBlock(q)),
    batched(seen(k)),
    batched(seen(v)),
    block.mask ?? null,
    0,
    !block.mask,
  );
  return out.squeeze(0).transpose(0, 1);
}

/** Each key or value head once for every query head that it serves. */
export function repeatHeads(x: Tensor, { heads, kvHeads, headDim }: DecoderConfig): Tensor {
  if (heads === kvHeads) return x;
  return x
    .unsqueeze(2)
    .expand([-1, -1, heads / kvHeads, -1])
    .reshape([-1, heads, headDim]);
}
