/** A file that is one JSON array of rows, as some datasets come, read as a stream: a row at a time. */
import { byteCount } from '../errors/byte-count.js';
import { FormatError } from '../errors/format-error.js';
import { requireFewValues } from './json.js';
import { chunks, type JsonLine, MAX_LINE_BYTES, parseLine } from './jsonl.js';
import { decodeUtf8 } from './utf8.js';

const [OPEN, CLOSE, COMMA, QUOTE, BACKSLASH, NEWLINE] = Buffer.from('[],"\\\n');
const [OPEN_BRACE, CLOSE_BRACE] = Buffer.from('{}');
const SPACE = new Set<number | undefined>(Buffer.from(' \t\r\n'));
const BYTE_ORDER_MARK = new Set<number | undefined>([0xef, 0xbb, 0xbf]);

/**
 * Yields the elements of the array, each with the line that it begins in.
 * @throws FormatError naming that line; FileError
 */
export async function* readJsonArray(path: string): AsyncGenerator<JsonLine, void, undefined> {
  for await (const { line, bytes } of elements(path)) {
    requireFewValues(path, 'the row', bytes, line);
    const text = decodeUtf8(path, 'the row', bytes, line).trim();
    yield { line, value: parseLine(path, line, text) };
  }
}

/** The texts between the brackets and commas of the outermost array, not parsed yet. */
async function* elements(path: string): AsyncGenerator<{ line: number; bytes: Buffer }, void, undefined> {
  let inside = false;
  let ended = false;
  let depth = 0;
  let quoted = false;
  let escaped = false;
  let line = 1;
  /** Current element: its bytes in earlier chunks, and its first line once there is one. */
  let parts: Buffer[] = [];
  let length = 0;
  let first: number | undefined;
  let count = 0;
  for await (const chunk of chunks(path)) {
    let start = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (byte === NEWLINE) line++;
      if (quoted) {
        if (escaped) escaped = false;
        else if (byte === BACKSLASH) escaped = true;
        else if (byte === QUOTE) quoted = false;
        continue;
      }
      if (SPACE.has(byte)) continue;
      if (ended) throw new FormatError(path, 'there is more after the ] that ends the array', { line });
      if (!inside) {
        if (byte === OPEN) [inside, start] = [true, at + 1];
        else if (!BYTE_ORDER_MARK.has(byte))
          throw new FormatError(path, 'a JSON array must begin with [', { line });
        continue;
      }
      const ends = depth === 0 && (byte === COMMA || byte === CLOSE);
      if (ends) {
        if (byte === COMMA || first !== undefined || count > 0) {
          if (first === undefined) throw new FormatError(path, 'a comma has no row beside it', { line });
          count++;
          yield { line: first, bytes: Buffer.concat([...parts, chunk.subarray(start, at)]) };
        }
        [parts, length, first, start] = [[], 0, undefined, at + 1];
        ended = byte === CLOSE;
        continue;
      }
      first ??= line;
      if (byte === QUOTE) quoted = true;
      else if (byte === OPEN || byte === OPEN_BRACE) depth++;
      else if (byte === CLOSE || byte === CLOSE_BRACE) depth--;
    }
    if (!inside || ended) continue;
    parts.push(Buffer.from(chunk.subarray(start)));
    length += chunk.length - start;
    if (length > MAX_LINE_BYTES) {
      const problem = `a row is longer than ${byteCount(MAX_LINE_BYTES)}; is it the right file?`;
      throw new FormatError(path, problem, { line: first });
    }
  }
  if (!ended) {
    const problem = `the array has no end: the file is cut off after ${count} whole rows`;
    throw new FormatError(path, problem, { line });
  }
}
