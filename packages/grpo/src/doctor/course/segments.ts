/** A stretch of neighbouring values that lie about one level. */
export interface Segment {
  /** Indices of its first value, and of the first after it. */
  from: number;
  to: number;
  /** Mean of its values. */
  level: number;
}

/**
 * Cuts values into stretches of one level each: the cut that has the least sum of squares, where each further stretch
 * costs 3 σ² ln n. A jump of the level by 5 σ is found after one value, one of 2 σ after a handful.
 *
 * @param noise - σ, the deviation of a value from its level
 */
export function segmentsOf(values: readonly number[], noise: number): Segment[] {
  const n = values.length;
  const sums = [0];
  const squares = [0];
  for (const value of values) {
    sums.push(sums.at(-1)! + value);
    squares.push(squares.at(-1)! + value * value);
  }
  const costOf = (from: number, to: number) =>
    squares[to]! - squares[from]! - (sums[to]! - sums[from]!) ** 2 / (to - from);
  const penalty = 3 * noise * noise * Math.log(Math.max(2, n));
  // The best cut of the first `to` values ends with a stretch that begins at `begins[to]`.
  const best = [-penalty];
  const begins = [0];
  for (let to = 1; to <= n; to++) {
    let [least, begin] = [Number.POSITIVE_INFINITY, 0];
    for (let from = 0; from < to; from++) {
      const cost = best[from]! + costOf(from, to) + penalty;
      if (cost < least) [least, begin] = [cost, from];
    }
    best.push(least);
    begins.push(begin);
  }
  const segments: Segment[] = [];
  for (let to = n; to > 0; to = begins[to]!) {
    const from = begins[to]!;
    segments.unshift({ from, to, level: (sums[to]! - sums[from]!) / (to - from) });
  }
  return segments;
}
