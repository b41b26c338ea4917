/** Columns of logs that the user took for a metric: they count in all logs that this process reads. */

const given = new Map<string, { metric: string; isRead: boolean }>();

/** Takes columns for metrics, and no others any more. */
export function giveNames(names: Iterable<readonly [column: string, metric: string]>): void {
  given.clear();
  for (const [column, metric] of names) given.set(column, { metric, isRead: false });
}

/** The metric that the user took a column for. */
export function givenName(column: string): string | undefined {
  const found = given.get(column);
  if (found) found.isRead = true;
  return found?.metric;
}

/** The columns that no log had. */
export const missingColumns = (): string[] =>
  [...given].flatMap(([column, { isRead }]) => (isRead ? [] : [column]));
