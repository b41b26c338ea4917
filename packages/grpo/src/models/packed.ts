import { segmentAttention, tensor } from '@grpo/torch';
import type { DecoderConfig } from './config.js';
import { attendBlocks, planBlocks } from './masked-attention.js';
import type { Attend, PackedTokens } from './transformer.js';

/** A run of tokens: it sees all of its parent, which lies before it, and itself up to each token. */
export interface Segment {
  ids: readonly number[];
  /** Index of the segment that this one continues, such as a group's prompt. */
  parent?: number;
}

/** Where a segment lies among the packed tokens. */
export interface Span {
  start: number;
  length: number;
  parent: Span | undefined;
}

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
  const spans: Span[] = [];
  const positions: number[] = [];
  const ids: number[] = [];
  for (const { ids: own, parent: index } of segments) {
    const parent = index === undefined ? undefined : spans[index]!;
    spans.push({ start: ids.length, length: own.length, parent });
    const offset = parent?.length ?? 0;
    for (let i = 0; i < own.length; i++) {
      ids.push(own[i]!);
      positions.push(offset + i);
    }
  }
  return {
    ids_N: tensor(ids, undefined, { dtype: 'int64', device }),
    positions_N: tensor(positions, undefined, { dtype: 'int64', device }),
    starts: spans.map(({ start }) => start),
    attend: attentionOf(spans, config, device),
  };
}

function attentionOf(spans: readonly Span[], config: DecoderConfig, device: string): Attend {
  const rows = spans.flatMap(({ start, length, parent }) => [
    start,
    length,
    parent?.start ?? 0,
    parent?.length ?? 0,
  ]);
  const makeTable = () => tensor(rows, [spans.length, 4], { dtype: 'int64' });
  const table = makeTable();
  // On the CPU hardly ever used, and then made on the spot.
  const blocks = device === 'cpu' ? undefined : planBlocks(spans, device);
  // A recomputed layer may attend after the end of the scope that this was packed in: what it freed is made again.
  const liveBlocks = () =>
    blocks && !blocks.some(({ mask }) => mask?.disposed) ? blocks : planBlocks(spans, device);
  return (_layer, q, k, v) =>
    device === 'cpu' && (q.dtype === 'float32' || q.dtype === 'bfloat16')
      ? segmentAttention(q, k, v, table.disposed ? makeTable() : table)
      : attendBlocks(liveBlocks(), [q, k, v], config);
}
