import { basename } from 'node:path';
import { crc32 } from 'node:zlib';
import { FormatError } from '../../errors/format-error.js';
import { excerpt } from '../../errors/printable.js';
import { Watch } from '../../progress/watch.js';
import { type Write, writeAtomic } from '../atomic-file.js';
import { byteLength, isDtype, isShape, type SafetensorsDtype } from './dtype.js';
import { MAX_HEADER_BYTES, METADATA_KEY } from './header.js';
import { partsOf, SUM_DIGITS, SUMS_KEY, sumText, type TensorBytes } from './sums.js';

/** A tensor to write. */
export interface TensorEntry {
  readonly name: string;
  readonly dtype: SafetensorsDtype;
  readonly shape: readonly number[];
  /** The tensor's bytes, little-endian and row-major; called once, when its turn comes. */
  readonly data: () => TensorBytes;
}

/**
 * Writes a safetensors file, tensors in the given order, one at a time: only one part of a tensor's bytes is held. The
 * file is written under a temporary name and renamed, so `path` is never half a file.
 *
 * @param options.sums - whether the header gets the CRC-32 of each tensor, by which every reader of ours checks it
 * @throws FormatError for entries that make no valid file, FileError when the system refuses.
 */
export function writeSafetensors(
  path: string,
  entries: Iterable<TensorEntry>,
  metadata: Readonly<Record<string, string>> = {},
  {
    flush = true,
    watch = new Watch(),
    sums = false,
  }: { flush?: boolean; watch?: Watch | undefined; sums?: boolean } = {},
): void {
  const tensors = [...entries];
  const sizes = tensors.map((tensor) => checkedSize(path, tensor));
  // Eight digits a tensor, in place of which the sums are written when they are known.
  const places = '0'.repeat(SUM_DIGITS * tensors.length);
  const header = encodeHeader(path, tensors, sizes, sums ? { [SUMS_KEY]: places, ...metadata } : metadata);
  const total = sizes.reduce((sum, size) => sum + size, header.length);
  const body = (write: Write): undefined => {
    const found: string[] = [];
    write(header);
    const progress = { stage: `writing ${basename(path)}`, done: header.length, total, unit: 'bytes' };
    for (const [index, { name, data }] of tensors.entries()) {
      let [given, sum] = [0, 0];
      for (const part of partsOf(data())) {
        given += part.length;
        if (given > sizes[index]!) break;
        watch.report({ ...progress });
        write(part);
        if (sums) sum = crc32(part, sum);
        progress.done += part.length;
      }
      if (given !== sizes[index]) {
        fail(path, name, `its dtype and shape take ${sizes[index]} bytes, data() gave ${given}`);
      }
      found.push(sumText(sum));
    }
    if (sums) write(found.join(''), header.indexOf(`"${places}"`) + 1);
    watch.report({ ...progress });
  };
  writeAtomic(path, body, total, flush);
}

function fail(path: string, name: string, problem: string): never {
  throw new FormatError(path, `cannot write tensor ${excerpt(name)}: ${problem}`);
}

function checkedSize(path: string, { name, dtype, shape }: TensorEntry): number {
  if (name === METADATA_KEY) fail(path, name, 'the name is reserved');
  if (!isDtype(dtype)) fail(path, name, `unknown dtype ${dtype}`);
  const size = isShape(shape) ? byteLength(dtype, shape) : undefined;
  return size ?? fail(path, name, `[${shape}] is no shape`);
}

/** The length, the JSON, and spaces up to a multiple of 8, so that the data is aligned. */
function encodeHeader(
  path: string,
  tensors: readonly TensorEntry[],
  sizes: readonly number[],
  metadata: Readonly<Record<string, string>>,
): Buffer {
  const names = new Set<string>();
  // Text, not an object: an object would move names such as "0" to the front.
  const fields: string[] = [];
  if (Object.keys(metadata).length > 0)
    fields.push(`${JSON.stringify(METADATA_KEY)}:${encodeMetadata(path, metadata)}`);
  let begin = 0;
  for (const [index, { name, dtype, shape }] of tensors.entries()) {
    if (names.has(name)) fail(path, name, 'the name is given twice');
    names.add(name);
    const end = begin + (sizes[index] ?? 0);
    fields.push(`${encodeText(path, name)}:${JSON.stringify({ dtype, shape, data_offsets: [begin, end] })}`);
    begin = end;
  }
  const json = Buffer.from(`{${fields.join(',')}}`, 'utf8');
  const length = Math.ceil(json.length / 8) * 8;
  if (length > MAX_HEADER_BYTES) {
    throw new FormatError(
      path,
      `the header would have ${length} bytes; the format allows ${MAX_HEADER_BYTES}`,
    );
  }
  const header = Buffer.alloc(8 + length, ' ');
  header.writeBigUInt64LE(BigInt(length), 0);
  header.set(json, 8);
  return header;
}

function encodeMetadata(path: string, metadata: Readonly<Record<string, string>>): string {
  const fields = Object.entries(metadata).map(([key, value]) => {
    if (typeof value !== 'string') throw new FormatError(path, `metadata ${excerpt(key)} must be a string`);
    return `${encodeText(path, key)}:${encodeText(path, value)}`;
  });
  return `{${fields.join(',')}}`;
}

/** Half a surrogate pair has no UTF-8 form: other readers would refuse the file. */
function encodeText(path: string, text: string): string {
  if (Buffer.from(text, 'utf8').toString('utf8') !== text) {
    throw new FormatError(
      path,
      `${excerpt(text)} holds half a surrogate pair and cannot be written as UTF-8`,
    );
  }
  return JSON.stringify(text);
}
