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

/** Narrower than this nothing can be laid out, wider than this nobody reads. */
const [NARROW, WIDE] = [40, 100];

/** Columns of the terminal that is printed to. */
export const pageWidth = (): number => Math.max(NARROW, Math.min(WIDE, process.stdout.columns ?? WIDE));
