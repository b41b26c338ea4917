/** A table of which only the rows in sight exist: every row has the same height, every column a width. */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import './virtual-table.css';

export interface TableColumn {
  key: string;
  title: string;
  /** In pixels. */
  width: number;
  isNumber?: boolean;
}

interface VirtualTableProps {
  label: string;
  columns: readonly TableColumn[];
  count: number;
  cell(row: number, column: number): ComponentChildren;
  /** The column that it is sorted by. */
  sort?: { key: string; isDescending: boolean };
  onSort?(key: string): void;
  /** The marked row, scrolled into sight when it changes. */
  at?: number | undefined;
}

const ROW = 26;
const OVERSCAN = 12;

export function VirtualTable({ label, columns, count, cell, sort, onSort, at }: VirtualTableProps) {
  const place = useRef<HTMLElement>(null);
  const [sight, setSight] = useState({ first: 0, rows: 40 });
  const look = () => {
    const { scrollTop, clientHeight } = place.current!;
    const [first, rows] = [Math.floor(scrollTop / ROW), Math.ceil(clientHeight / ROW)];
    setSight((before) => (before.first === first && before.rows === rows ? before : { first, rows }));
  };
  useLayoutEffect(() => {
    const observer = new ResizeObserver(look);
    observer.observe(place.current!);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (at === undefined) return;
    const { scrollTop, clientHeight } = place.current!;
    // The head stands above the first row.
    const [top, bottom] = [at * ROW, (at + 2) * ROW];
    if (top < scrollTop) place.current!.scrollTop = top;
    else if (bottom > scrollTop + clientHeight) place.current!.scrollTop = bottom - clientHeight;
  }, [at]);
  const first = Math.max(0, Math.min(sight.first, count) - OVERSCAN);
  const end = Math.min(count, sight.first + sight.rows + OVERSCAN);
  const space = (rows: number) =>
    rows > 0 && (
      <tr style={{ height: `${rows * ROW}px` }}>
        <td colSpan={columns.length} />
      </tr>
    );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
    <section class="virtual-table" ref={place} aria-label={label} tabIndex={0} onScroll={look}>
      <table
        aria-rowcount={count + 1}
        style={{ width: `${columns.reduce((sum, { width }) => sum + width, 0)}px` }}
      >
        <colgroup>
          {columns.map(({ key, width }) => (
            <col key={key} style={{ width: `${width}px` }} />
          ))}
        </colgroup>
        <thead>
          <tr>
            {columns.map(({ key, title, isNumber }) => (
              <th
                key={key}
                scope="col"
                class={isNumber ? 'number' : ''}
                aria-sort={sort?.key !== key ? undefined : sort.isDescending ? 'descending' : 'ascending'}
              >
                {onSort ? (
                  <button type="button" class="link" title={title} onClick={() => onSort(key)}>
                    {title}
                    {sort?.key === key && (sort.isDescending ? ' ↓' : ' ↑')}
                  </button>
                ) : (
                  title
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {space(first)}
          {Array.from({ length: Math.max(0, end - first) }, (_, i) => first + i).map((row) => (
            <tr key={row} aria-rowindex={row + 2} aria-current={row === at ? 'true' : undefined}>
              {columns.map(({ key, isNumber }, column) => (
                <td key={key} class={isNumber ? 'number' : ''}>
                  {cell(row, column)}
                </td>
              ))}
            </tr>
          ))}
          {space(count - end)}
        </tbody>
      </table>
    </section>
  );
}
