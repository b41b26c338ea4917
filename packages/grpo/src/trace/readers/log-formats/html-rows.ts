/** Rows of HTML tables as those of Markdown, in pages and in the lines of a text. */
import type { Line } from '../lines.js';

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  nbsp: ' ',
  '#39': "'",
};

/** The rows of HTML tables as those of Markdown. */
export function rowsOfTables(html: string): string[] {
  return [...html.matchAll(/<tr\b[^>]*>(.*?)<\/tr>/gis)].map(([, row]) => {
    const cells = [...row!.matchAll(/<t[dh]\b[^>]*>(.*?)<\/t[dh]>/gis)].map(([, cell]) =>
      cell!
        .replace(/<[^>]*>/g, '')
        .replace(/&(\w+|#39);/g, (whole, name: string) => ENTITIES[name] ?? whole)
        .replace(/\s+/g, ' ')
        .trim(),
    );
    return `| ${cells.join(' | ')} |`;
  });
}

/** A longer row is no row of metrics. */
const MOST_OF_ROW = 50_000;

/** The lines of a text, in which the rows of HTML tables stand as those of Markdown, each in the line that it begins in. */
export function* withTableRows(lines: Iterable<Line>): Generator<Line> {
  let isInside = false;
  let open: Line[] = [];
  let length = 0;
  for (const line of lines) {
    isInside ||= /<table\b/i.test(line.text);
    if (!isInside) {
      yield line;
      continue;
    }
    open.push(line);
    length += line.text.length;
    isInside = length <= MOST_OF_ROW && !endsIn(line.text, 'table');
    if (isInside && !endsIn(line.text, 'tr')) continue;
    yield* rowsIn(open);
    [open, length] = [[], 0];
  }
  yield* rowsIn(open);
}

/** Whether the last element of a kind that a line begins or ends is one that it ends. */
function endsIn(line: string, element: string): boolean {
  const text = line.toLowerCase();
  return text.lastIndexOf(`</${element}>`) > text.lastIndexOf(`<${element}`);
}

/** The rows in some lines; the lines themselves where they have no whole row. */
function rowsIn(lines: readonly Line[]): Line[] {
  const rows = rowsOfTables(lines.map(({ text }) => text).join('\n'));
  return rows.length === 0 ? [...lines] : rows.map((text) => ({ line: lines[0]!.line, text }));
}
