import type { RunEntry } from 'grpo/studio';

export const COLUMNS = ['name', 'state', 'step', 'reward', 'findings', 'modified'] as const;
export type Column = (typeof COLUMNS)[number];

/** Numbers and times begin with the largest, words with A. */
const startsLow = (column: Column) => column === 'name' || column === 'state';

/** A column with its direction, as it stands in the address: `reward`, `-reward` turned around. */
export interface Order {
  column: Column;
  isTurned: boolean;
}

export function parseOrder(text: string | undefined): Order {
  const column = text?.replace(/^-/, '') as Column;
  return COLUMNS.includes(column)
    ? { column, isTurned: text!.startsWith('-') }
    : { column: 'modified', isTurned: false };
}

export const orderText = ({ column, isTurned }: Order): string => `${isTurned ? '-' : ''}${column}`;

export const isAscending = ({ column, isTurned }: Order): boolean => startsLow(column) !== isTurned;

const STATES: readonly RunEntry['state'][] = ['running', 'stopped', 'finished', 'unknown'];

function valueIn(run: RunEntry, column: Column): number | string | undefined {
  switch (column) {
    case 'name':
      return run.name;
    case 'state':
      return run.problem === undefined ? STATES.indexOf(run.state) : -1;
    case 'findings':
      return run.findings && run.findings.fail * 1e6 + run.findings.warn;
    default:
      return run[column];
  }
}

const isMissing = (value: number | string | undefined) => value === undefined || Number.isNaN(value);

/** Runs whose name or kind has all words of a text, in an order; runs without the column's value come last. */
export function sortRuns(runs: readonly RunEntry[], order: Order, filter: string): readonly RunEntry[] {
  const words = filter.toLowerCase().split(/\s+/);
  const sign = isAscending(order) ? 1 : -1;
  const text = (run: RunEntry) => `${run.name} ${run.kind} ${run.state}`.toLowerCase();
  return runs
    .filter((run) => words.every((word) => text(run).includes(word)))
    .sort((a, b) => {
      const [x, y] = [valueIn(a, order.column), valueIn(b, order.column)];
      const last = Number(isMissing(x)) - Number(isMissing(y));
      const compared = isMissing(x) || isMissing(y) ? 0 : compare(x!, y!);
      return last || sign * compared || a.id.localeCompare(b.id);
    });
}

const compare = (x: number | string, y: number | string) =>
  typeof x === 'string' ? x.localeCompare(y as string, 'en', { numeric: true }) : x - (y as number);
