/** Columns of logs that the user took for a metric: they count in all logs that this process reads. */
import { nearestName } from '../../../errors/nearest-name.js';
import { UsageError } from '../../../errors/user-error.js';
import { NAMES } from './name-table.js';

const given = new Map<string, { metric: string; isRead: boolean }>();

/**
 * Takes columns of the logs that are read from now on for metrics, before any table of names does.
 *
 * @param columns - column by metric: TRL's name, an evaluation's with `eval_` before it, a reward function's as
 * `rewards/NAME/mean`
 * @throws UsageError for an unknown metric
 */
export function nameMetrics(columns: ReadonlyMap<string, string>): void {
  const names = Object.keys(NAMES);
  for (const metric of columns.keys()) {
    const plain = metric.replace(/^eval_/, '');
    if (names.includes(plain) || /^rewards\/.+\/mean$/.test(plain)) continue;
    throw new UsageError(`no check reads a metric ${metric}; the nearest is ${nearestName(plain, names)}`, {
      hint: `Metrics are ${names.join(', ')}; rewards/NAME/mean of a reward function; and each with eval_ before it.`,
    });
  }
  given.clear();
  for (const [metric, column] of columns) given.set(column, { metric, isRead: false });
}

/** The metric that the user took a column for. */
export function givenName(column: string): string | undefined {
  const found = given.get(column);
  if (found) found.isRead = true;
  return found?.metric;
}

/** Whether a line has the name of such a column in it. */
export const hasGivenName = (text: string): boolean =>
  [...given.keys()].some((column) => text.includes(column));

/** The columns that no log had. */
export const missingColumns = (): string[] =>
  [...given].flatMap(([column, { isRead }]) => (isRead ? [] : [column]));
