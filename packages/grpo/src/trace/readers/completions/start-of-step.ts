import { FileBytes } from '../file-bytes.js';
import { stepOfRow } from '../step-of-row.js';

const NEWLINE = 0x0a;
const CHUNK = 2 ** 16;
const MOST_OF_HEAD = 40;

/**
 * A byte at which a row begins, not far before the rows of a step, in a file whose rows stand in the order of their steps:
 * a step of a file of any size is found without reading the others.
 */
export function startOfStep(path: string, step: number): number {
  using file = new FileBytes(path);
  let [low, high] = [0, file.size];
  while (high - low > CHUNK) {
    const middle = Math.floor((low + high) / 2);
    const row = rowAfter(file, middle);
    if (row === undefined || row.start >= high) high = middle;
    else if (row.step < step) low = row.start;
    else high = row.start;
  }
  return low;
}

/** The first row that begins behind a place; undefined where none does, or it does not begin with its step. */
function rowAfter(file: FileBytes, place: number): { start: number; step: number } | undefined {
  for (let at = place; at < file.size; at += CHUNK) {
    const newline = file.at(at, CHUNK).indexOf(NEWLINE);
    if (newline < 0) continue;
    const start = at + newline + 1;
    const step = stepOfRow(file.at(start, MOST_OF_HEAD).toString('latin1'));
    return step === undefined ? undefined : { start, step };
  }
  return undefined;
}
