/** Finds changes in logs of a few entries that are larger than the noise of an entry, which such a log does not show. */
import { median } from '../../maths/quantile.js';
import { isStraight } from '../../maths/trend.js';
import type { MetricCourse, Point, Shift } from './metric-course.js';

/** A change for good: all values before it lie on one side, all after it on the other. */
export interface Break extends Omit<Shift, 'beyond'> {
  /** The two values that are nearest to each other, one of either side. */
  near: { from: number; to: number };
  /** Whether no value of five or more ever turned back. */
  isSteady: boolean;
  /** Whether more than one entry of either side shows it. */
  isShown: boolean;
  /** Whether the last entry alone shows it. */
  isLast: boolean;
}

const FEWEST = 3;
/** Longer logs show their noise. */
export const MOST = 15;
/** So many values are in order by chance once in 60 times. */
const STEADY = 5;
/** Share of the widest gap with which another is as good. */
const NEARLY = 0.75;
/** Logarithm of a change that one value fewer shows as well. */
const VAST = Math.log(10);

/** The change of a metric in a short log: where two sides lie farthest apart; undefined where none do. */
export function breakOf(course: MetricCourse): Break | undefined {
  const { points, floor } = course;
  if (points.length < FEWEST || points.length > MOST) return undefined;
  const scale = (value: number) => (floor === undefined ? value : Math.log(Math.max(value, floor)));
  const values = points.map(({ value }) => value);
  const splits = values.slice(1).flatMap((_, i) => {
    const [before, after] = [values.slice(0, i + 1), values.slice(i + 1)];
    const rise = { from: Math.max(...before), to: Math.min(...after) };
    const fall = { from: Math.min(...before), to: Math.max(...after) };
    const near = rise.to > rise.from ? rise : fall;
    const gap = near === rise ? scale(rise.to) - scale(rise.from) : scale(fall.from) - scale(fall.to);
    return gap > 0 ? [{ near, gap, before, after }] : [];
  });
  const [first, ...others] = splits;
  if (!first) return undefined;
  const widest = others.reduce((a, b) => (b.gap > a.gap ? b : a), first);
  // A ramp has several gaps of nearly one width: the one with most entries on both sides dates it.
  const smaller = ({ before, after }: typeof widest) => Math.min(before.length, after.length);
  const { near, before, after } = splits
    .filter(({ gap }) => gap >= NEARLY * widest.gap)
    .reduce((a, b) => (smaller(b) > smaller(a) ? b : a), widest);
  const isOrdered = splits.length === points.length - 1;
  const isVast = points.length === STEADY - 1 && Math.abs(scale(values.at(-1)!) - scale(values[0]!)) > VAST;
  const isSteady = isOrdered && (points.length >= STEADY || (floor !== undefined && isVast));
  const [from, to] = isSteady ? [values[0]!, values.at(-1)!] : [median(before), median(after)];
  const isShown = isSteady || Math.min(before.length, after.length) > 1;
  return {
    from,
    to,
    step: points[before.length]!.step,
    near,
    isSteady,
    isShown,
    isDrift: course.isStraight(),
    isLast: !isSteady && after.length === 1,
  };
}

/** Whether the values changed so many times, and the nearest of both sides by the root of it. */
export function isTimes({ from, to, near, isSteady }: Break, times: number): boolean {
  const ratio = (pair: { from: number; to: number }) => Math.max(pair.from / pair.to, pair.to / pair.from);
  return ratio({ from, to }) >= times && (isSteady || ratio(near) >= Math.sqrt(times));
}

/** The same of a share, by its difference. */
export function isBy({ from, to, near, isSteady }: Break, share: number): boolean {
  return Math.abs(to - from) >= share && (isSteady || Math.abs(near.to - near.from) >= share / 2);
}

/** A reward or an accuracy that lost most of what it had, for good. */
export interface Loss extends Omit<Shift, 'beyond'> {
  /** Whether the last entry alone shows it. */
  isLast: boolean;
  /** Whether the values before it alone rule chance out. */
  isSure: boolean;
}

/** Dixon's critical values (r10) of gap ÷ range for 5 to 16 values, the lowest of which lies apart: chance does so once in 200. */
const DIXON = [0.821, 0.74, 0.68, 0.634, 0.598, 0.568, 0.542, 0.522, 0.503, 0.488, 0.475, 0.463];

/**
 * The fall from the best value to all of the last ones, in a short log.
 *
 * @param lost - share of the best that each of the last ones lost at least
 */
export function lossOf(points: readonly Point[], lost: number): Loss | undefined {
  if (points.length < FEWEST || points.length > MOST) return undefined;
  const values = points.map(({ value }) => value);
  const [floor, best] = [Math.min(0, ...values), Math.max(...values)];
  // Penalties that all lie near to each other have lost little.
  const low = best - lost * Math.max(best - floor, Math.abs(best));
  const turn = 1 + values.findLastIndex((value) => value > low);
  if (turn === 0 || turn === values.length || best === floor) return undefined;
  const before = values.slice(0, turn);
  const [most, least, top] = [Math.max(...values.slice(turn)), Math.min(...before), Math.max(...before)];
  const critical = DIXON[turn + 1 - 5] ?? Number.POSITIVE_INFINITY;
  // A single group is all right or all wrong, so one last entry proves nothing.
  const isOneGroup = turn === values.length - 1 && values.every(Number.isInteger);
  const to = median(values.slice(turn));
  // It began where all are nearer to the end than to the best.
  const begin = 1 + values.findLastIndex((value) => value > (best + to) / 2);
  return {
    from: best,
    to,
    step: points[Math.min(turn, begin)]!.step,
    isLast: Math.min(turn, begin) === points.length - 1,
    isDrift: isStraight(
      values,
      points.map(({ step }) => step),
    ),
    isSure: !isOneGroup && (least - most) / (top - most) > critical,
  };
}
