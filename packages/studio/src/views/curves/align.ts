/** Lines of a chart over one row of steps, as they are drawn and as they are read. */
import type { Line } from './layout.js';

export interface Aligned {
  /** Ascending: all steps of all lines. */
  steps: Float64Array;
  /** Values as the log has them, by line and step; undefined where a line has none. */
  values: readonly (readonly (number | undefined)[])[];
  /** Heights to draw: null is a gap, undefined is passed over. */
  heights: readonly (readonly (number | null | undefined)[])[];
  /** Steps at which some line's value is not finite. */
  broken: readonly number[];
  /** Count of values that are 0 or less and cannot stand on a log scale. */
  notPositive: number;
}

/** @param isStack - whether each line stands on the sum of those before */
export function alignLines(
  lines: readonly Pick<Line, 'curve'>[],
  { isLog, isStack }: { isLog: boolean; isStack: boolean },
): Aligned {
  const steps = unionOf(lines.map(({ curve }) => curve.steps));
  const values = lines.map(({ curve }) => onSteps(curve.steps, curve.values, steps));
  const broken: number[] = [];
  let notPositive = 0;
  const heights = values.map((row) => new Array<number | null | undefined>(row.length));
  for (let i = 0; i < steps.length; i++) {
    let below: number | null = 0;
    let isBroken = false;
    for (let k = 0; k < values.length; k++) {
      const value = values[k]![i];
      if (value !== undefined && !Number.isFinite(value)) isBroken = true;
      if (value === undefined) heights[k]![i] = undefined;
      else if (!Number.isFinite(value)) heights[k]![i] = null;
      else if (isLog && value <= 0) {
        notPositive++;
        heights[k]![i] = null;
      } else heights[k]![i] = value;
      if (!isStack) continue;
      // A stack ends below a value that cannot be added.
      below = below === null || heights[k]![i] === null ? null : below + (heights[k]![i] ?? 0);
      heights[k]![i] = below;
    }
    if (isBroken) broken.push(steps[i]!);
  }
  return { steps, values, heights, broken, notPositive };
}

function unionOf(rows: readonly Float64Array[]): Float64Array {
  const [first] = rows;
  if (first && rows.every((row) => isSame(row, first)) && isAscending(first)) return first;
  const all = new Set<number>();
  for (const row of rows) for (const step of row) all.add(step);
  return Float64Array.from(all).sort();
}

const isSame = (a: Float64Array, b: Float64Array) =>
  a === b || (a.length === b.length && a.every((step, i) => step === b[i]));

const isAscending = (row: Float64Array) => row.every((step, i) => i === 0 || step > row[i - 1]!);

function onSteps(own: Float64Array, values: Float64Array, steps: Float64Array): (number | undefined)[] {
  if (own === steps) return Array.from(values);
  const bySteps = new Map<number, number>();
  for (let i = 0; i < own.length; i++) bySteps.set(own[i]!, values[i]!);
  return Array.from(steps, (step) => bySteps.get(step));
}

/** Indices of values with a gap or nothing on both sides: a line does not show them. */
export function isolated(heights: readonly (number | null | undefined)[]): number[] {
  const found: number[] = [];
  let before: number | null = null;
  for (let i = 0; i < heights.length; i++) {
    const height = heights[i];
    if (height === undefined) continue;
    if (height !== null && before === null && (nextOf(heights, i) ?? null) === null) found.push(i);
    before = height;
  }
  return found;
}

function nextOf(heights: readonly (number | null | undefined)[], i: number): number | null | undefined {
  for (let k = i + 1; k < heights.length; k++) if (heights[k] !== undefined) return heights[k];
  return undefined;
}

/** Steps in words: `3, 14–16 and 5 more`. */
export function stepsText(steps: readonly number[], most = 4): string {
  const spans: [number, number][] = [];
  for (const step of steps) {
    const last = spans.at(-1);
    if (last && step === last[1] + 1) last[1] = step;
    else spans.push([step, step]);
  }
  const shown = spans.slice(0, most).map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`));
  const left = spans.slice(most).reduce((count, [from, to]) => count + to - from + 1, 0);
  return left > 0 ? `${shown.join(', ')} and ${left} more` : shown.join(', ');
}

/** The number of a sorted row that is nearest to another. */
export function nearest(row: ArrayLike<number>, to: number): number | undefined {
  let low = 0;
  let high = row.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row[middle]! < to) low = middle + 1;
    else high = middle;
  }
  const [before, after] = [row[low - 1], row[low]];
  if (before === undefined || after === undefined) return before ?? after;
  return to - before <= after - to ? before : after;
}
