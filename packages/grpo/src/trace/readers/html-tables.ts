/** Tables in HTML: pages that a notebook or a tracker was saved as. */
import { wholeText } from './json-log.js';
import type { Place } from './place.js';
import type { Reading } from './reading.js';
import { readLines } from './text-log.js';

export const isHtml = ({ isFolder, name, head }: Place): boolean =>
  !isFolder && (/\.html?$/i.test(name) || /^\s*<(!doctype html|html|table)\b/i.test(head));

/**
 * Reads the tables of a page.
 *
 * @throws FormatError when none has metrics
 */
export function readHtmlTables({ path }: Place): Reading {
  const lines = rowsOfTables(wholeText(path)).map((text, i) => ({ line: i + 1, text }));
  return readLines(path, lines, false);
}

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
