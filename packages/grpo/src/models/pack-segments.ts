import {
  cat,
  compilesEachShape,
  cpuLevels,
  type DType,
  segmentAttention,
  type Tensor,
  tensor,
  torchVersion,
} from '@grpo/torch';
import { attendBothWays } from './both-ways-attention.js';
import type { DecoderConfig } from './config.js';
import {
  attendBlocks,
  type Block,
  planBlocks,
  type Scores,
  scoresOf,
  windowsOf,
} from './masked-attention.js';
import type { Segment, Span } from './segment.js';
import type { Attend, PackedTokens } from './transformer.js';

/** Segments as packed tokens, and the attention that keeps them apart. */
export interface PackedSegments extends PackedTokens {
  /** First token of each segment. */
  starts: number[];
  attend: Attend;
}

/**
 * Rows of a product, rounded up where each number of rows is compiled: lengths that vary would compile products in every
 * micro-batch, and keep up to a gigabyte of them.
 */
export const evenRows = (rows: number, { device, dtype }: Place): number =>
  device === 'cpu' && compilesEachShape(dtype) ? Math.ceil(rows / ROWS) * ROWS : rows;

const ROWS = 32;

/** A device and a precision. */
interface Place {
  device: string;
  dtype: DType;
}

/**
 * Packs segments one after another. Children of one parent must be neighbours; a parent has no parent itself. A
 * masked-diffusion model attends both ways within a segment, and a segment has no parent there.
 * The result belongs to the running `tidy` scope.
 *
 * @param dtype - of the products; where it is given, padding tokens bring their rows to {@link evenRows}
 * @param passes - `forward` where no backward pass follows, whose results need not be those of a pass that has one
 */
export function packSegments(
  segments: readonly Segment[],
  config: DecoderConfig,
  device: string,
  dtype?: DType,
  passes: Passes = 'both',
): PackedSegments {
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
  const starts = spans.map(({ start }) => start);
  const rest = dtype === undefined ? 0 : evenRows(ids.length, { device, dtype }) - ids.length;
  if (rest > 0) {
    spans.push({ start: ids.length, length: rest, parent: undefined });
    // Position 0 is within every context.
    for (const list of [ids, positions]) list.push(...Array<number>(rest).fill(0));
  }
  return {
    ids_N: tensor(ids, undefined, { dtype: 'int64', device }),
    positions_N: tensor(positions, undefined, { dtype: 'int64', device }),
    starts,
    attend: attentionOf(spans, config, device, passes),
  };
}

function attentionOf(spans: readonly Span[], config: DecoderConfig, device: string, passes: Passes): Attend {
  if (config.diffusion) {
    if (spans.some(({ parent }) => parent)) throw new Error('attention both ways has no shared prompts');
    if (config.attentionSoftcap || config.attention.some(({ window }) => window))
      throw new Error('attention both ways has no windows and no soft caps');
    return (_layer, ...qkv) => attendBothWays(spans, qkv, config);
  }
  const table = tableOf(spans);
  const longest = Math.max(0, ...spans.map(({ length, parent }) => length + (parent?.length ?? 0)));
  const plan = (window: number) => planBlocks(spans, device, window);
  // The CPU hardly ever needs blocks; it makes them when it does.
  const blocks = new Map<number, Block[]>();
  if (device !== 'cpu') for (const window of windowsOf(config, longest)) blocks.set(window, plan(window));
  // A recomputed layer may attend after the end of the scope that packed the segments: freed masks are made again.
  const liveBlocks = (window: number) => {
    const made = blocks.get(window);
    return made && !made.some(({ mask }) => mask?.disposed) ? made : plan(window);
  };
  return (layer, ...qkv) => {
    const { dtype } = qkv[0];
    const scores = scoresOf(config, layer, longest);
    if (device !== 'cpu' || (dtype !== 'float32' && dtype !== 'bfloat16'))
      return attendBlocks(liveBlocks(scores.window), qkv, config, scores);
    const runs = runsOf(spans, longFrom(dtype, scores, passes));
    if (runs.every(({ isLong }) => !isLong))
      return segmentAttention(...qkv, table.disposed ? tableOf(spans) : table, scores);
    return cat(
      runs.map((run) => attendRun(run, qkv, config, scores)),
      0,
    );
  };
}

/** Neighbouring segments that are attended to in one call. */
interface Run {
  spans: Span[];
  /** Whether it is one long segment without parent and children: plainly causal. */
  isLong: boolean;
}

type Passes = 'forward' | 'both';

/**
 * Tokens from which on libtorch's attention is the faster for a segment by itself. Measured with 12 and 14 heads of 64, on
 * an Intel processor with AMX, and on the same one held to AVX-512 and to AVX2; forward alone with 8 and 32, too
 * (docs/performance.md).
 */
function longFrom(dtype: 'float32' | 'bfloat16', { window, softcap }: Scores, passes: Passes): number {
  // libtorch's knows no soft caps, and computes what a window leaves out.
  if (window > 0 || softcap > 0) return Number.POSITIVE_INFINITY;
  // 1.13 has a stand-in that holds all scores.
  if (torchVersion().startsWith('1.')) return Number.POSITIVE_INFINITY;
  const multipliesTiles = dtype === 'bfloat16' && cpuLevels().chosen === 'amx';
  if (passes === 'forward') return multipliesTiles ? 256 : 2560;
  if (dtype === 'float32') return 4096;
  // Without tiles its backward pass in bfloat16 is slower at every length.
  return multipliesTiles ? 1024 : Number.POSITIVE_INFINITY;
}

function runsOf(spans: readonly Span[], least: number): Run[] {
  const runs: Run[] = [];
  for (const [i, span] of spans.entries()) {
    const isLong = span.length >= least && !span.parent && spans[i + 1]?.parent !== span;
    const last = runs.at(-1);
    if (last && !last.isLong && !isLong) last.spans.push(span);
    else runs.push({ spans: [span], isLong });
  }
  return runs;
}

function attendRun(
  { spans, isLong }: Run,
  qkv: readonly [Tensor, Tensor, Tensor],
  config: DecoderConfig,
  scores: Scores,
): Tensor {
  const first = spans[0]!.start;
  const length = spans.reduce((sum, span) => sum + span.length, 0);
  const [q, k, v] = qkv.map((x) => x.narrow(0, first, length)) as [Tensor, Tensor, Tensor];
  const whole = { start: 0, length };
  return isLong
    ? attendBlocks([{ ...whole, seen: [whole], mask: undefined }], [q, k, v], config, scores)
    : segmentAttention(q, k, v, tableOf(spans, first), scores);
}

/** Start, length, and the parent's start and length of each segment: int64 `[S, 4]`. */
const tableOf = (spans: readonly Span[], first = 0): Tensor =>
  tensor(
    spans.flatMap(({ start, length, parent }) => [
      start - first,
      length,
      parent ? parent.start - first : 0,
      parent?.length ?? 0,
    ]),
    [spans.length, 4],
    { dtype: 'int64' },
  );
