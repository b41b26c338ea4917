import { Refusal } from '../../../http/refusal.js';

/** Bytes of a file from `start` to before `end`. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * Reads a Range header (RFC 9110, section 14). Several ranges at once are refused, units other than bytes ignored.
 *
 * @returns undefined where the whole file is asked for
 * @throws Refusal for a range that the file does not have, with its size
 */
export function byteRange(header: string | undefined, size: number): ByteRange | undefined {
  const [, set] = /^bytes=(.*)$/i.exec(header ?? '') ?? [];
  if (set === undefined) return undefined;
  const specs = set
    .split(',')
    .map((spec) => spec.trim())
    .filter((spec) => spec !== '');
  const [, first, last] = (specs.length === 1 && /^(\d*)-(\d*)$/.exec(specs[0]!)) || [];
  const range = first === undefined || last === undefined ? undefined : bounds(first, last, size);
  if (range === 'whole') return undefined;
  if (!range)
    throw new Refusal(416, `The file has ${size} bytes; one range of them can be asked for.`, {
      'content-range': `bytes */${size}`,
    });
  return range;
}

function bounds(first: string, last: string, size: number): ByteRange | 'whole' | undefined {
  if (first === '') {
    if (last === '' || Number(last) === 0) return undefined;
    // No range can be written of an empty file, all of which this is.
    return size === 0 ? 'whole' : { start: Math.max(0, size - Number(last)), end: size };
  }
  const start = Number(first);
  const end = last === '' ? size : Math.min(size, Number(last) + 1);
  return start < size && start < end ? { start, end } : undefined;
}
