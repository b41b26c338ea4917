/** The course of a run as rows: where each quantity began and ended, and when it moved. */
import { levelText, type Movement, movementOf, wordsOf } from './movements.js';
import { METRICS, type Quantity, type RunCourse } from './run-course.js';

/** Fewer points have no noise that is known. */
export const FEWEST = 8;

export interface CourseRow {
  quantity: Quantity;
  /** The metric's name in the log. */
  metric: string;
  /** Means of the first and the last eighth. */
  start: number;
  end: number;
  movement?: Movement;
  /** Whether there are too few points to know the noise. */
  isShort?: true;
}

/** The reward first, then what moved by the step at which it did, then what did not. */
export function courseRows(course: RunCourse): CourseRow[] {
  const rows = (Object.keys(METRICS) as Quantity[]).flatMap((quantity): CourseRow[] => {
    const metric = course.of(quantity);
    if (!metric) return [];
    // Without the share itself only entries without any signal are seen: 0 says nothing.
    if (quantity === 'flat' && metric.mean === 0 && course.pointsOf(METRICS.flat.name).length === 0)
      return [];
    const movement = movementOf(course, quantity);
    const { start, end } = metric;
    const isShort = metric.points.length < FEWEST && ({ isShort: true } as const);
    const name = METRICS[quantity].name;
    return [{ quantity, metric: name, start, end, ...(movement && { movement }), ...isShort }];
  });
  const turn = ({ quantity, movement }: CourseRow) =>
    quantity === 'reward' ? -1 : (movement?.step ?? Number.POSITIVE_INFINITY);
  return rows.sort((a, b) => (turn(a) === turn(b) ? 0 : turn(a) - turn(b)));
}

/** `reward`, `0.645 → 0`, `fell from 0.875 at step 21, 40 σ`. */
export function rowText({ quantity, start, end, movement, isShort }: CourseRow): [string, string, string] {
  const levels = `${levelText(quantity, start)} → ${levelText(quantity, end)}`;
  if (!movement) return [wordsOf(quantity), levels, isShort ? '' : 'within the noise of both'];
  const { from, to, step, beyond } = movement;
  const verb = to > from ? 'rose' : 'fell';
  const since = from === start ? '' : ` from ${levelText(quantity, from)}`;
  const sure = beyond > 100 ? 'over 100' : String(Math.round(beyond));
  return [wordsOf(quantity), levels, `${verb}${since} at step ${step}, ${sure} σ`];
}
