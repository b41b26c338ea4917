/** JSON Lines in: one JSON value per line, UTF-8, read as a stream so that a file may be larger than memory. */
import { createReadStream } from 'node:fs';
import { byteCount } from '../errors/byte-count.js';
import { fileError, onFile } from '../errors/file-error.js';
import { FormatError } from '../errors/format-error.js';
import { excerpt } from '../errors/printable.js';
import { jsonProblem, requireFewValues, structureProblem } from './json.js';
import { otherKind } from './other-kind.js';
import { requireFile } from './read-file.js';
import { decodeUtf8, withoutByteOrderMark } from './utf8.js';

/** A row of a run's files: any fields, and the step that it belongs to. */
export interface StepRow {
  readonly step: number;
  readonly [field: string]: unknown;
}

/** No real row is this long: it is a file of another kind, and each of its bytes may take ten when it is parsed. */
export const MAX_LINE_BYTES = 64 * 2 ** 20;
const NEWLINE = 0x0a;

/** One row; `line` is where it begins, from 1, blank lines counted; of a Parquet file it is the row's number. */
export interface JsonLine<T = unknown> {
  readonly line: number;
  readonly value: T;
}

/**
 * Yields the rows of a JSON Lines file, holding one line at a time. Blank lines are skipped, a byte order mark and CRLF
 * are accepted.
 * @throws FormatError with file, line, and the text there; FileError when the system refuses.
 */
export async function* readJsonLines(path: string): AsyncGenerator<JsonLine, void, undefined> {
  let line = 0;
  for await (const bytes of readLines(path)) {
    line++;
    requireFewValues(path, 'the line', bytes, line);
    const whole = decodeUtf8(path, 'the line', bytes, line);
    const text = line === 1 ? withoutByteOrderMark(whole) : whole;
    if (text.trim() === '') continue;
    yield { line, value: parseLine(path, line, text) };
  }
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
      const begin = excerpt(Buffer.from(parts[0]!.subarray(0, 400)).toString('utf8'));
      throw new FormatError(
        path,
        `the line is longer than ${byteCount(MAX_LINE_BYTES)}, so this is not JSON Lines (one JSON value per line); it begins ${begin}`,
        { line },
      );
    }
  }
  if (length > 0) yield join(parts);
}

const join = (parts: Uint8Array[], last: Uint8Array = new Uint8Array(0)) => Buffer.concat([...parts, last]);

/** The file's bytes, piece by piece. */
export async function* chunks(path: string): AsyncGenerator<Uint8Array, void, undefined> {
  onFile('read', path, () => requireFile(path));
  const stream = createReadStream(path, { highWaterMark: 2 ** 18 });
  try {
    yield* stream as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw fileError('read', path, error);
  } finally {
    stream.destroy();
  }
}

/**
 * The value of a text that is one.
 * @param line - where the text begins
 * @throws FormatError
 */
export function parseLine(path: string, line: number, text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const kind = line === 1 ? otherKind(Buffer.from(text.slice(0, 8))) : undefined;
    // One JSON document over many lines breaks at the first bracket.
    const hint = /^\s*[[{]\s*$/.test(text) ? '; each line must be a whole JSON value by itself' : '';
    const problem = `not valid JSON: ${excerpt(text.trimEnd())}${hint} (${jsonProblem(cause, text)})`;
    throw new FormatError(path, kind ? `this is ${kind.name}; ${kind.remedy}` : problem, { line, cause });
  }
  const problem = structureProblem(text);
  if (problem !== undefined) throw new FormatError(path, `the row ${problem}`, { line });
  return value;
}
