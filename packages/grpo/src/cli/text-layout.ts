import { printable } from '../errors/printable.js';

/** Breaks text at spaces into lines of at most `width` characters; a longer word stands alone. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** Two columns: names on the left, wrapped text on the right. A name that is too long has a line of its own. */
export function twoColumns(
  rows: readonly (readonly [string, string])[],
  left: number,
  width: number,
): string[] {
  return rows.flatMap(([name, text]) => {
    const lines = wrap(text, width - left);
    const head = name.length <= left - 2 ? [name.padEnd(left) + lines.shift()] : [name];
    return [...head, ...lines.map((line) => ' '.repeat(left) + line)];
  });
}

/** Rows of cells in columns: the first on the left, the others on the right. */
export function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, c) => Math.max(...rows.map((row) => row[c]!.length)));
  return rows.map((row) =>
    row.map((cell, c) => (c === 0 ? cell.padEnd(widths[c]!) : cell.padStart(widths[c]! + 2))).join(''),
  );
}

/**
 * Columns as a table no wider than `width`: those that have no room form a table below it, which begins with the names again.
 *
 * @param names - columns that say what a row is
 */
export function alignWithin(
  names: readonly (readonly string[])[],
  columns: readonly (readonly string[])[],
  width: number,
): string[] {
  const tableOf = (own: readonly (readonly string[])[]) =>
    alignColumns(names[0]!.map((_, row) => [...names, ...own].map((column) => column[row]!)));
  const tables: (readonly string[])[][] = [[]];
  for (const column of columns) {
    const last = tables.at(-1)!;
    if (last.length > 0 && tableOf([...last, column])[0]!.length > width) tables.push([column]);
    else last.push(column);
  }
  return tables.flatMap((own, i) => (i === 0 ? tableOf(own) : ['', ...tableOf(own)]));
}

/** A text on one line of at most `length` characters: its beginning, or its end. */
export function shortened(text: string, length: number, fromEnd = false): string {
  const line = printable(text.replace(/\s+/g, ' ').trim(), Number.POSITIVE_INFINITY);
  if (line === '') return '(blank)';
  if (line.length <= length) return line;
  return fromEnd ? `…${line.slice(1 - length)}` : `${line.slice(0, length - 1)}…`;
}

/** Narrower than this nothing can be laid out, wider than this nobody reads. */
const [NARROW, WIDE] = [40, 100];

/** Columns of the terminal that is printed to. */
export const pageWidth = (): number => Math.max(NARROW, Math.min(WIDE, process.stdout.columns ?? WIDE));
