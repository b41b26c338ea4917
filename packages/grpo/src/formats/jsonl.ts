/** JSON Lines in: one JSON value a line, UTF-8, read as a stream so that a file may be larger than memory. */
import { createReadStream } from 'node:fs';
import { fileError } from './file-error.js';
import { EmptyFile, excerpt, FormatError } from './format-error.js';
import { isObject, jsonProblem, shown } from './json.js';

/** No real row is this long: it is a file of another kind, and a JavaScript string could not hold much more. */
const MAX_LINE_BYTES = 256 * 2 ** 20;
const NEWLINE = 0x0a;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const lossyUtf8 = new TextDecoder('utf-8');

/** One row; `line` counts from 1 and counts blank lines. */
export interface JsonLine<T = unknown> {
  readonly line: number;
  readonly value: T;
}

/**
 * Yields the rows of a JSON Lines file. Blank lines are skipped, a byte order mark and CRLF are accepted.
 * @throws FormatError naming file and line, with the text found there; FileError when the system refuses.
 */
export async function* readJsonLines(path: string): AsyncGenerator<JsonLine, void, undefined> {
  let line = 0;
  for await (const bytes of readLines(path)) {
    line++;
    const text = decode(path, line, bytes);
    if (text.trim() === '') continue;
    yield { line, value: parse(path, line, text) };
  }
}

/**
 * All rows of a JSON Lines file of objects.
 * @throws EmptyFile when there is no row; FormatError also when a row is not an object.
 */
export async function readRows(path: string): Promise<JsonLine<Record<string, unknown>>[]> {
  const rows: JsonLine<Record<string, unknown>>[] = [];
  for await (const { line, value } of readJsonLines(path)) {
    if (!isObject(value)) {
      const problem = `a row must be a JSON object such as {"key": "value"}, found ${shown(value)}`;
      throw new FormatError(path, problem, { line });
    }
    rows.push({ line, value });
  }
  if (rows.length === 0) throw new EmptyFile(path, 'the file has no rows; put one JSON object on each line');
  return rows;
}

/** The file's lines as bytes, without their newlines; text after the last newline is a line too. */
async function* readLines(path: string): AsyncGenerator<Uint8Array, void, undefined> {
  let parts: Uint8Array[] = [];
  let length = 0;
  let line = 1;
  for await (const chunk of chunks(path)) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      yield parts.length === 0 ? chunk.subarray(start, end) : join(parts, chunk.subarray(start, end));
      parts = [];
      length = 0;
      line++;
      start = end + 1;
    }
    const rest = chunk.subarray(start);
    if (rest.length === 0) continue;
    parts.push(rest);
    length += rest.length;
    if (length > MAX_LINE_BYTES) {
      const begin = excerpt(lossyUtf8.decode(parts[0]?.subarray(0, 400)));
      throw new FormatError(
        path,
        `the line is longer than ${MAX_LINE_BYTES} bytes, so this is not JSON Lines (one JSON value a line); it begins ${begin}`,
        { line },
      );
    }
  }
  if (length > 0) yield join(parts);
}

const join = (parts: Uint8Array[], last: Uint8Array = new Uint8Array(0)) => Buffer.concat([...parts, last]);

async function* chunks(path: string): AsyncGenerator<Uint8Array, void, undefined> {
  const stream = createReadStream(path, { highWaterMark: 2 ** 18 });
  try {
    yield* stream as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw fileError('read', path, error);
  } finally {
    stream.destroy();
  }
}

function decode(path: string, line: number, bytes: Uint8Array): string {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch (cause) {
    const found = excerpt(lossyUtf8.decode(bytes.subarray(0, 400)));
    throw new FormatError(path, `not valid UTF-8; save the file as UTF-8 text. Found ${found}`, {
      line,
      cause,
    });
  }
  return line === 1 && text.startsWith('\uFEFF') ? text.slice(1) : text;
}

function parse(path: string, line: number, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    // One JSON document over many lines breaks at the first bracket.
    const hint = /^\s*[[{]\s*$/.test(text) ? '; each line must be a whole JSON value by itself' : '';
    const problem = `not valid JSON: ${excerpt(text.trimEnd())}${hint} (${jsonProblem(cause)})`;
    throw new FormatError(path, problem, { line, cause });
  }
}
