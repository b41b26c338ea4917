/** Tables in HTML: pages that a notebook or a tracker was saved as. */
import { wholeText } from './json-log.js';
import { rowsOfTables } from './log-formats/html-rows.js';
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
