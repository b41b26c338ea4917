import { FormatError } from '../errors/format-error.js';
import { excerpt, printable } from '../errors/printable.js';
import { readWhole } from './read-file.js';
import { decodeUtf8, withoutByteOrderMark } from './utf8.js';

/** More than any JSON file of a model or a tokenizer has, and little enough to be parsed in memory. */
const MAX_JSON_BYTES = 128 * 2 ** 20;
/** Twice the number in the largest tokenizers. Each may take a hundred bytes of memory, and large objects much time. */
const MAX_VALUES = 4_000_000;
/** Nesting that later readers can recurse into; no file of ours is a tenth as deep. */
const MAX_DEPTH = 100;

/**
 * Reads a JSON file, see {@link parseJsonObject}.
 * @throws FileError also; FormatError also for a file that is none, or is far too large.
 */
export function readJsonObject(file: string, part: string): Record<string, unknown> {
  return parseJsonObject(file, part, readWhole(file, part, MAX_JSON_BYTES));
}

/**
 * Parses a JSON text that is one object, nested at most 100 deep, in which no object names a key twice; `JSON.parse`
 * would silently keep the last one.
 * @param part name of the text, for the message: `'the header'`.
 * @throws FormatError with the place of the problem.
 */
export function parseJsonObject(file: string, part: string, bytes: Uint8Array): Record<string, unknown> {
  requireFewValues(file, part, bytes);
  const text = withoutByteOrderMark(decodeUtf8(file, part, bytes));
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const problem = text.trim() === '' ? 'it is empty' : jsonProblem(cause, text);
    // A file of another kind fails on its first line, and its beginning shows the kind.
    const begins = /at line \d/.test(problem) ? '' : `; it begins ${excerpt(text)}`;
    throw new FormatError(file, `${part} is not valid JSON: ${problem}${begins}`, { cause });
  }
  if (!isObject(value)) throw new FormatError(file, `${part} must be a JSON object, found ${excerpt(text)}`);
  const problem = structureProblem(text);
  if (problem !== undefined) throw new FormatError(file, `${part} ${problem}`);
  return value;
}

/** Whether a parsed JSON value is an object: not null, not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The problem that `JSON.parse` reported, with column, and line if there are several, where it can be told. */
export function jsonProblem(error: unknown, text: string): string {
  const message = error instanceof Error ? error.message : String(error);
  const { problem, position } = positionIn(message, text);
  if (position === undefined) return printable(problem);
  const lines = text.slice(0, position).split('\n');
  const column = `column ${lines.at(-1)!.length + 1}`;
  return printable(`${problem} at ${text.includes('\n') ? `line ${lines.length}, ` : ''}${column}`);
}

/** Node tells the position as a number, or by ten characters on both sides. */
function positionIn(message: string, text: string): { problem: string; position?: number } {
  const [, problem, number] = /^(.*) in JSON at position (\d+)/s.exec(message) ?? [];
  if (problem !== undefined) return { problem, position: Number(number) };
  const [, token, context] =
    /^(Unexpected token .*), \.{3}"(.*)"(?:\.{3})? is not valid JSON$/s.exec(message) ?? [];
  const start = context === undefined ? -1 : text.indexOf(context);
  if (start < 0 || text.indexOf(context!, start + 1) >= 0) return { problem: message };
  return { problem: token!, position: start + 10 };
}

/** A parsed JSON value for an error message. Nested values are only named: printing them recurses. */
export function describeJson(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'string') return excerpt(value);
  if (isObject(value)) return 'an object';
  if (!Array.isArray(value)) return String(value);
  if (value.some((item) => typeof item === 'object' && item !== null)) return 'a nested array';
  return value.length > 10 ? `an array of ${value.length} values` : `[${value.map(describeJson).join(', ')}]`;
}

/**
 * Asked before a JSON text is parsed, which could fill the memory.
 * @throws FormatError for a text of more than four million values.
 */
export function requireFewValues(file: string, part: string, bytes: Uint8Array, line?: number): void {
  if (bytes.length <= MAX_VALUES) return;
  let values = 0;
  // Before each value but the first stands a comma or a bracket. Those inside of strings are counted too.
  for (const byte of bytes) if (byte === 0x2c || byte === 0x5b || byte === 0x7b) values++;
  if (values <= MAX_VALUES) return;
  throw new FormatError(
    file,
    `${part} has more than ${MAX_VALUES / 1e6} million values; is it the right file?`,
    { line },
  );
}

/**
 * Finds problems that `JSON.parse` lets pass: a key that an object has twice, at any depth, and nesting that is too
 * deep. Returns the problem in words, or undefined.
 * @param text must be valid JSON.
 */
export function structureProblem(text: string): string | undefined {
  // The keys of the objects around `at`; undefined for arrays.
  const open: (Set<string> | undefined)[] = [];
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '{' || char === '[') {
      if (open.length === MAX_DEPTH) return `is nested more than ${MAX_DEPTH} deep`;
      open.push(char === '{' ? new Set() : undefined);
    } else if (char === '}' || char === ']') open.pop();
    else if (char === '"') {
      const end = closingQuote(text, at);
      if (isKey(text, end)) {
        const written = text.slice(at, end + 1);
        // Unescaped, since "a" and "\u0061" are one key.
        const key = written.includes('\\') ? (JSON.parse(written) as string) : written.slice(1, -1);
        const keys = open.at(-1);
        if (keys?.has(key)) return `names ${excerpt(key)} twice`;
        keys?.add(key);
      }
      at = end;
    }
  }
  return undefined;
}

function closingQuote(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === '\\') slashes++;
    if (slashes % 2 === 0) return end;
  }
}

/** In valid JSON a colon follows keys and nothing else. */
function isKey(text: string, end: number): boolean {
  let at = end + 1;
  while (' \t\n\r'.includes(text[at] ?? '!')) at++;
  return text[at] === ':';
}

/**
 * For `JSON.stringify`: names the numbers that JSON lacks, `"NaN"` and the infinities, which would become null.
 * @throws TypeError for a typed array, Map or Set.
 */
export function jsonValue(key: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  // JSON.stringify would turn these into {} or {"0":…} without a word.
  if (ArrayBuffer.isView(value) || value instanceof Map || value instanceof Set) {
    throw new TypeError(`"${key}" is a ${value.constructor.name}; make it a plain array or object first`);
  }
  return value;
}

/** Levels and values of a user's value that are kept: a node of a graph leads to all of it. */
const [MOST_LEVELS, MOST_KEPT] = [50, 100_000];

/**
 * Copies any value into one that JSON can hold. A bigint becomes its digits, a typed array a list, a number that is not
 * finite its name. A text stands for a cycle, and for whatever lies deeper than 50 levels or beyond `most` values.
 */
export function recordable(value: unknown, most = MOST_KEPT): unknown {
  const above: unknown[] = [];
  let kept = 0;
  const text = JSON.stringify(value, function (this: unknown, _key, item: unknown) {
    while (above.length > 0 && above.at(-1) !== this) above.pop();
    if (typeof item === 'bigint' || (typeof item === 'number' && !Number.isFinite(item))) return String(item);
    if (typeof item !== 'object' || item === null) return item;
    if (above.includes(item)) return '[cycle]';
    const isTyped = ArrayBuffer.isView(item) && !(item instanceof DataView);
    const held = isTyped ? Array.from(item as Uint8Array) : item;
    kept += Object.keys(held).length;
    if (above.length > MOST_LEVELS || kept > most) return '[left out]';
    above.push(held);
    return held;
  });
  return text === undefined ? null : JSON.parse(text);
}
