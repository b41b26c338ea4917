/** The course of a run as rows: where each metric began and ended, and when it moved. */
import { functionOf, OF_THE_MACHINE } from '../log-view.js';
import { say } from '../sentence.js';
import { MetricCourse, type Point } from './metric-course.js';
import { FEWEST, levelText, type Movement, movementOf, whenText, wordsOf } from './movements.js';
import { METRICS, type Quantity, type RunCourse } from './run-course.js';

/** Any other metric of a short log is shown where it grew or shrank so many times, or fell to 0. */
const TIMES = 4;
/** As many of them are shown. */
const MOST_OTHERS = 4;
/** Shares of clipped tokens and bounds of rewards move by chance; the rest is set, or counted. */
const NOT_SHOWN = /^(clip_ratio\/|learning_rate$|num_tokens$|step_tokens$|eval|advantages\/)|std$|\(rare\)$/;

export interface CourseRow {
  /** The metric's name in the log. */
  metric: string;
  /** The same in words. */
  name: string;
  quantity?: Quantity;
  /** Means of the first and the last eighth. */
  start: number;
  end: number;
  movement?: Movement;
  /** The direction of a straight line through all points, where it is sure. */
  direction?: 'rises' | 'falls';
  /** Whether there are too few points to know the noise. */
  isShort?: true;
  /** The value of a short log that lies beyond both ends. */
  extreme?: Point;
  /** Whether every point of a short log has one value. */
  isConstant?: true;
}

/** The reward first, then what moved by the step at which it did, then what did not. */
export function courseRows(course: RunCourse): CourseRow[] {
  const rows = (Object.keys(METRICS) as Quantity[]).flatMap((quantity): CourseRow[] => {
    const points = course.pointsOf(METRICS[quantity].name);
    // The course of the gradient leaves out where it is 0, which a short log is to show.
    const isShort = quantity === 'gradient' && points.length > 1 && points.length < FEWEST;
    const metric = isShort ? new MetricCourse(points) : course.of(quantity);
    if (!metric) return [];
    // Without the share itself only entries without any signal are seen: 0 says nothing.
    if (quantity === 'flat' && metric.mean === 0 && course.pointsOf(METRICS.flat.name).length === 0)
      return [];
    const movement = movementOf(course, quantity);
    const row = { quantity, metric: METRICS[quantity].name, name: wordsOf(quantity) };
    return [{ ...row, ...levelsOf(metric), ...(movement && { movement }) }];
  });
  const turn = ({ quantity, movement, extreme, isConstant }: CourseRow) =>
    quantity === 'reward' ? -1 : (movement?.step ?? (extreme || isConstant ? MAX : Number.POSITIVE_INFINITY));
  return [...rows, ...functionRows(course), ...otherRows(course, rows)].sort((a, b) =>
    turn(a) === turn(b) ? 0 : turn(a) - turn(b),
  );
}

const MAX = Number.MAX_SAFE_INTEGER;

/** The single reward functions, where the reward is made of several. */
function functionRows(course: RunCourse): CourseRow[] {
  const { answers, others } = course.functions;
  const functions = [...answers, ...others];
  return (functions.length > 1 ? functions : []).flatMap((metric) => {
    const own = course.metric(metric);
    return own ? [{ metric, name: functionOf(metric), ...levelsOf(own) }] : [];
  });
}

/** Rows of the other metrics that changed in size, of a log that is too short to tell noise. */
function otherRows(course: RunCourse, rows: readonly CourseRow[]): CourseRow[] {
  const { entries } = course.series;
  if (entries.length >= FEWEST) return [];
  const names = new Set(entries.flatMap(({ values }) => Object.keys(values)));
  const isOther = (name: string) =>
    !rows.some(({ metric }) => metric === name) &&
    !name.startsWith('rewards/') &&
    !NOT_SHOWN.test(name) &&
    !OF_THE_MACHINE.test(name);
  return [...names]
    .filter(isOther)
    .flatMap((metric) => {
      const own = course.metric(metric);
      // A log without a known reward shows every other metric.
      return own && (course.of('reward') === undefined || changesSize(own.points))
        ? [{ metric, name: metric, ...levelsOf(own) }]
        : [];
    })
    .slice(0, MOST_OTHERS);
}

/** Whether a metric that is never below 0 changes by so many times, or falls to 0 for good. */
function changesSize(points: readonly Point[]): boolean {
  const values = points.map(({ value }) => value);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (points.length < 3 || least < 0 || most === 0) return false;
  return least > 0 ? most >= TIMES * least : values.slice(-2).every((value) => value === 0);
}

function levelsOf(
  metric: MetricCourse,
): Pick<CourseRow, 'start' | 'end' | 'direction' | 'isShort' | 'extreme' | 'isConstant'> {
  const { start, end, points, direction } = metric;
  if (points.length >= FEWEST) return { start, end, ...(direction && { direction }) };
  const values = points.map(({ value }) => value);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (points.length >= 3 && least === most) return { start, end, isShort: true, isConstant: true };
  const [first, last] = [values[0]!, values.at(-1)!];
  // An end that is the extreme says it by itself, and so does what lies near to it.
  const [above, below] = [most - Math.max(first, last), Math.min(first, last) - least];
  const beyond = Math.max(above, below);
  const extreme = points.find(({ value }) => value === (above >= below ? most : least));
  // The values as they are: the course takes small ones for its floor.
  return {
    start: first,
    end: last,
    isShort: true,
    ...(beyond > (most - least) / 4 && extreme && { extreme }),
  };
}

/** `reward`, `0.645 → 0`, `fell from 0.875 at step 21, 40 σ`. */
export function rowText({ name, quantity, start, end, ...row }: CourseRow): [string, string, string] {
  const text = (level: number) => (quantity ? levelText(quantity, level) : say`${level}`);
  const levels = `${text(start)} → ${text(end)}`;
  if (row.isConstant) return [name, levels, 'the same at each entry'];
  if (row.movement && row.movement.beyond === undefined) {
    const { from, to } = row.movement;
    return [name, levels, `${to > from ? 'rose' : 'fell'} ${whenText(row.movement)}`];
  }
  if (row.extreme) {
    const { value, step } = row.extreme;
    return [
      name,
      levels,
      `${value > Math.max(start, end) ? 'up' : 'down'} to ${text(value)} at step ${step}`,
    ];
  }
  if (!row.movement && row.direction) return [name, levels, `${row.direction} along a straight line only`];
  if (!row.movement) return [name, levels, row.isShort || !quantity ? '' : 'within the noise of both'];
  const { from, to, beyond = 0 } = row.movement;
  const verb = to > from ? 'rose' : 'fell';
  const since = from === start ? '' : ` from ${text(from)}`;
  const sure = beyond > 100 ? 'over 100' : String(Math.round(beyond));
  return [name, levels, `${verb}${since} ${whenText(row.movement)}, ${sure} σ`];
}
