/** Numbers by position, thinned to the columns of a chart. */
import type { PositionAnswer } from 'grpo/studio';

/** Positions that stand together in a column of the chart. */
export interface PositionBin {
  from: number;
  to: number;
  /** Mean gap and mean size over all tokens of the bin, and its largest size. */
  mean: number;
  size: number;
  largest: number;
  /** Completions that reach it. */
  count: number;
}

export function positionBins({ mean, size, largest, count }: PositionAnswer, most: number): PositionBin[] {
  const width = Math.max(1, Math.ceil(mean.length / most));
  return Array.from({ length: Math.ceil(mean.length / width) }, (_, bin) => {
    const [start, end] = [bin * width, Math.min(mean.length, (bin + 1) * width)];
    let [tokens, sum, sizes, peak, reach] = [0, 0, 0, 0, 0];
    for (let i = start; i < end; i++) {
      // No mean of no tokens, as where all completions have the result of a tool.
      if (count[i] === 0) continue;
      tokens += count[i]!;
      sum += mean[i]! * count[i]!;
      sizes += size[i]! * count[i]!;
      // NaN stays: Math.max passes it on.
      peak = Math.max(peak, Math.abs(largest[i]!));
      reach = Math.max(reach, count[i]!);
    }
    return {
      from: start,
      to: end - 1,
      mean: sum / tokens,
      size: sizes / tokens,
      largest: peak,
      count: reach,
    };
  });
}
