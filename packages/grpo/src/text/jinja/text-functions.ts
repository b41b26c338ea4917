/** Python's functions of text, where JavaScript's differ. */

/** White space by Python's `str.isspace`; JavaScript's has U+FEFF and lacks U+0085, U+001C…. */
export const SPACE =
  '\\t\\n\\v\\f\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const NOT_SPACE = new RegExp(`[^${SPACE}]+`, 'gu');
const ONE_SPACE = new RegExp(`[${SPACE}]`, 'u');
const LINE_ENDS = '\\r\\n|[\\n\\r\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029]';

/** `strip`, `lstrip` and `rstrip`. @param chars characters to remove; white space when undefined. */
export function strip(value: string, chars: string | undefined, left = true, right = true): string {
  const wanted = chars === undefined ? undefined : new Set(chars);
  const unwanted = (char: string) => (wanted ? wanted.has(char) : ONE_SPACE.test(char));
  const points = Array.from(value);
  let start = 0;
  let end = points.length;
  while (left && start < end && unwanted(points[start]!)) start++;
  while (right && end > start && unwanted(points[end - 1]!)) end--;
  return points.slice(start, end).join('');
}

/** `split` without or with a separator; at most `limit` cuts unless it is negative. */
export function split(value: string, separator: string | undefined, limit: number): string[] {
  if (separator === undefined) {
    const words = [...value.matchAll(NOT_SPACE)];
    if (limit < 0 || words.length <= limit) return words.map(([word]) => word);
    return [...words.slice(0, limit).map(([word]) => word), value.slice(words[limit]!.index)];
  }
  const parts = cut(value, separator);
  if (limit < 0 || parts.length <= limit) return parts;
  return [...parts.slice(0, limit), parts.slice(limit).join(separator)];
}

/** `rsplit` with a separator. */
export function splitRight(value: string, separator: string, limit: number): string[] {
  const parts = cut(value, separator, true);
  const from = parts.length - limit - 1;
  if (limit < 0 || from <= 0) return parts;
  return [parts.slice(0, from + 1).join(separator), ...parts.slice(from + 1)];
}

function cut(value: string, separator: string, fromRight = false): string[] {
  if (separator === '') throw new Error('split: the separator is empty');
  if (!fromRight) return value.split(separator);
  const parts: string[] = [];
  let end = value.length;
  for (let at = find(end); at >= 0; at = find(end)) {
    parts.unshift(value.slice(at + separator.length, end));
    end = at;
  }
  return [value.slice(0, end), ...parts];

  function find(before: number): number {
    return before < separator.length ? -1 : value.lastIndexOf(separator, before - separator.length);
  }
}

/** `splitlines`, without the line ends. */
export function splitLines(value: string): string[] {
  const lines = value.split(new RegExp(LINE_ENDS, 'u'));
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

export function replace(value: string, old: string, by: string, limit: number): string {
  // Between code points, not between the halves of one.
  const parts = old === '' ? ['', ...value, ''] : value.split(old);
  const cuts = limit < 0 ? parts.length : limit;
  if (cuts === 0) return value;
  return parts.reduce((joined, part, i) => joined + (i <= cuts ? by : old) + part);
}

/** `str.capitalize`: the first letter in title case, all others small. */
export function capitalize(value: string): string {
  const [first = ''] = value;
  // Lowered as a whole: the small form of a Greek sigma depends on the letter before it.
  return titleCase(first) + value.toLowerCase().slice(first.toLowerCase().length);
}

/** The filter `title`: words begin after white space, a hyphen or an opening bracket. */
export function titleWords(value: string): string {
  const parts = value.split(new RegExp(`([-${SPACE}({\\[<]+)`, 'u'));
  return parts.map((part) => upperFirst(part)).join('');
}

function upperFirst(part: string): string {
  const [first = '', ...rest] = Array.from(part);
  return first.toUpperCase() + rest.join('').toLowerCase();
}

/** JavaScript has no title case; a letter whose title case may be another than its upper case is refused. */
function titleCase(char: string): string {
  const upper = char.toUpperCase();
  if (Array.from(upper).length > 1 || /[\u01c4-\u01cc\u01f1-\u01f3\u10d0-\u10ff\u1f80-\u1fff]/.test(char)) {
    throw new Error(`the title case of ${JSON.stringify(char)} is not supported`);
  }
  return upper;
}

/** `islower` and `isupper`: there is a letter with case, and all of them have this one. */
export function hasOnlyCase(value: string, lower: boolean): boolean {
  const [wanted, other] = lower
    ? [/\p{Lowercase}/u, /[\p{Uppercase}\p{Lt}]/u]
    : [/\p{Uppercase}/u, /[\p{Lowercase}\p{Lt}]/u];
  return wanted.test(value) && !other.test(value);
}
