/** Lines of text files of any size, holding one at a time. Read synchronously: records are asked for one by one. */
import { closeSync, fstatSync, openSync } from 'node:fs';
import { onFile } from '../../errors/file-error.js';
import { readFully } from '../../formats/file-io.js';
import { readWhole, requireFile } from '../../formats/read-file.js';
import { Watch } from '../../progress/watch.js';
import { decoderOf, gunzipped, isGzip } from './encoding.js';

const CHUNK_BYTES = 2 ** 20;
const MOST_PACKED_BYTES = 2 ** 27;
/** No row of a log or a table is longer; what is would not fit into memory some day. */
const MAX_LINE_CHARACTERS = 2 ** 25;

/** The end of a progress bar that another one follows. */
const NEXT_BAR = /(?<=\])\s*(?=(?:[^\s%|]{1,20}(?: \d+)?:\s+)?\d+%\|)/;

/** A line, or a part of one between carriage returns: progress bars write over themselves. */
export interface Line {
  /** 1-based number of the line. */
  line: number;
  text: string;
  /** Whether it was longer than is read, and the rest left out. */
  cut?: true;
}

/** The text of a packed file in pieces; it is unpacked in memory. */
function* unpacked(path: string): Generator<string> {
  const bytes = gunzipped(path, readWhole(path, 'the packed log', MOST_PACKED_BYTES));
  const decoder = decoderOf(bytes);
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES)
    yield decoder.decode(bytes.subarray(at, at + CHUNK_BYTES), { stream: true });
}

/**
 * The text of a file in pieces. Bytes that are no UTF-8 become U+FFFD: two processes may write into one log.
 *
 * @param from - the byte to begin at, of a file that is not packed
 * @param watch - hears how far it is
 */
export function* chunksOf(path: string, from = 0, watch = new Watch()): Generator<string> {
  onFile('read', path, () => requireFile(path));
  const fd = onFile('read', path, () => openSync(path, 'r'));
  try {
    const bytes = new Uint8Array(CHUNK_BYTES);
    const begin = onFile('read', path, () => bytes.subarray(0, readFully(fd, bytes, 0)));
    if (isGzip(begin)) {
      yield* unpacked(path);
      return;
    }
    const decoder = decoderOf(begin);
    const total = fstatSync(fd).size;
    let position = from;
    for (;;) {
      const count = onFile('read', path, () => readFully(fd, bytes, position));
      if (count > 0) yield decoder.decode(bytes.subarray(0, count), { stream: true });
      position += count;
      watch.report({ stage: 'reading', done: position, total, unit: 'bytes' });
      if (count < CHUNK_BYTES) break;
    }
    const rest = decoder.decode();
    if (rest !== '') yield rest;
  } finally {
    closeSync(fd);
  }
}

/**
 * The lines of a file, without those that are blank.
 *
 * @param from - the byte at which the first line begins, of a file that is not packed; it counts as line 1
 * @param watch - hears how far it is
 */
export function* linesOf(path: string, from = 0, watch = new Watch()): Generator<Line> {
  let line = 1;
  let rest = '';
  let cut = false;
  for (const chunk of chunksOf(path, from, watch)) {
    let start = 0;
    for (const match of chunk.matchAll(/[\r\n]/g)) {
      yield* lineOf(line, rest + chunk.slice(start, match.index), cut);
      rest = '';
      cut = false;
      start = match.index + 1;
      if (match[0] === '\n') line++;
    }
    if (!cut) rest += chunk.slice(start);
    if (rest.length > MAX_LINE_CHARACTERS) {
      // Only the beginning is kept, with nothing of it read as if it were whole.
      rest = rest.slice(0, 1000);
      cut = true;
    }
  }
  yield* lineOf(line, rest, cut);
}

function* lineOf(line: number, text: string, cut: boolean): Generator<Line> {
  if (text.trim() === '') return;
  if (cut) yield { line, text: text.slice(0, 1000), cut: true };
  // Bars that a copy put into one line.
  else if (text.includes('%|')) for (const part of text.split(NEXT_BAR)) yield { line, text: part };
  else yield { line, text };
}

/** A line as it would look without colours and movements of the cursor. */
export function stripAnsi(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what ANSI sequences begin with
  return text.includes('\u001b') ? text.replace(/\u001b\[[0-9;?]*[ -/]*[@-~]/g, '') : text;
}
