/** All completions of a step, a row each. */
import { useMemo } from 'preact/hooks';
import { finishWord } from '../../parts/finish-word.js';
import { shortNumber } from '../../parts/numbers.js';
import type { Completion } from '../../parts/rewards-of.js';
import { visible } from '../../parts/safe-text.js';
import { SignedMark } from '../../parts/signed-mark.js';
import { VirtualTable } from '../../parts/virtual-table.js';
import { setQuery } from '../../route.js';
import type { Column } from './columns.js';
import type { Selection } from './selection.js';

interface CompletionTableProps {
  columns: readonly Column[];
  completions: readonly Completion[];
  selection: Selection;
  at: number | undefined;
  linkOf(completion: Completion): string;
}

const WIDTHS: Readonly<Record<Column['kind'], number>> = {
  name: 96,
  number: 92,
  signed: 100,
  finish: 80,
  text: 300,
};

export function CompletionTable({ columns, completions, selection, at, linkOf }: CompletionTableProps) {
  const { sort, isDescending } = selection;
  const heads = useMemo(
    () =>
      columns.map(({ key, title, kind }) => ({
        key,
        title: visible(title),
        width: WIDTHS[kind],
        isNumber: kind === 'number' || kind === 'signed',
      })),
    [columns],
  );
  const marked = completions.findIndex(({ index }) => index === at);
  return (
    <VirtualTable
      label="completions"
      columns={heads}
      count={completions.length}
      sort={{ key: sort, isDescending }}
      onSort={(key) => setQuery({ sort: key === sort && !isDescending ? `-${key}` : key })}
      at={marked < 0 ? undefined : marked}
      cell={(row, column) => cellOf(completions[row]!, columns[column]!, linkOf)}
    />
  );
}

/** As much of a text as a row can show. */
const MOST_CHARACTERS = 160;

function cellOf(one: Completion, { kind, value }: Column, linkOf: (one: Completion) => string) {
  const shown = value(one);
  if (kind === 'name') return <a href={linkOf(one)}>{one.name}</a>;
  if (kind === 'signed') return <SignedMark value={shown as number | undefined} />;
  if (kind === 'finish') return finishWord(shown as string | undefined);
  if (typeof shown === 'number')
    return Number.isNaN(shown) ? <strong class="fail">✕ NaN</strong> : shortNumber(shown);
  return shown === undefined ? (
    '–'
  ) : (
    <span class="safe-text mono" dir="auto">
      {visible(shown.slice(0, MOST_CHARACTERS)).replaceAll('\n', '↵ ')}
    </span>
  );
}
