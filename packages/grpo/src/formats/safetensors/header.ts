/**
 * The header of a safetensors file: 8 bytes of length (little-endian), then that many bytes of JSON,
 * `{"__metadata__": {key: text}, name: {"dtype", "shape", "data_offsets": [begin, end]}}`, then the data.
 * Offsets count from the start of the data; the tensors must cover it without gap or overlap.
 */
import { FormatError } from '../../errors/format-error.js';
import { excerpt } from '../../errors/printable.js';
import { describeJson, isObject, parseJsonObject } from '../json.js';
import { byteLength, DTYPE_BYTES, isDtype, isShape, type SafetensorsDtype } from './dtype.js';

/** The format's own limit, in bytes. */
export const MAX_HEADER_BYTES = 100_000_000;
export const METADATA_KEY = '__metadata__';

/** One tensor of a file. `begin` and `end` are byte offsets into the data that follows the header. */
export interface TensorInfo {
  readonly dtype: SafetensorsDtype;
  readonly shape: readonly number[];
  readonly begin: number;
  readonly end: number;
}

export interface Header {
  /** By name, in the order of the data. */
  readonly tensors: ReadonlyMap<string, TensorInfo>;
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * Parses and validates the JSON of a header.
 * @param dataBytes the size of the file's data, which the tensors must fill exactly.
 * @throws FormatError naming the file and the tensor.
 */
export function parseHeader(file: string, json: Uint8Array, dataBytes: number): Header {
  const { [METADATA_KEY]: metadata = {}, ...entries } = parseJsonObject(file, 'the header', json);
  const tensors = Object.entries(entries).map(
    ([name, entry]) => [name, parseTensor(file, name, entry)] as const,
  );
  tensors.sort(([, a], [, b]) => a.begin - b.begin || a.end - b.end);
  checkCoverage(file, tensors, dataBytes);
  return { tensors: new Map(tensors), metadata: parseMetadata(file, metadata) };
}

function parseMetadata(file: string, metadata: unknown): Record<string, string> {
  if (!isObject(metadata)) {
    throw new FormatError(
      file,
      `${METADATA_KEY} must be an object of strings, found ${describeJson(metadata)}`,
    );
  }
  const strings = Object.entries(metadata).map(([key, value]): [string, string] => {
    requireUnicode(file, key);
    if (typeof value === 'string') return [key, requireUnicode(file, value)];
    throw new FormatError(
      file,
      `${METADATA_KEY}: ${excerpt(key)} must be a string, found ${describeJson(value)}`,
    );
  });
  return Object.fromEntries(strings);
}

/** JSON can escape half a surrogate pair, which is no text: other readers refuse it, and it cannot be written again. */
function requireUnicode(file: string, text: string): string {
  if (!/\p{Surrogate}/u.test(text)) return text;
  throw new FormatError(file, `the header holds half a surrogate pair in ${excerpt(text)}`);
}

function parseTensor(file: string, name: string, entry: unknown): TensorInfo {
  requireUnicode(file, name);
  const fail = (problem: string): never => {
    throw new FormatError(file, `tensor ${excerpt(name)}: ${problem}`);
  };
  if (!isObject(entry))
    return fail(`must be an object with dtype, shape, data_offsets; found ${describeJson(entry)}`);
  const { dtype, shape, data_offsets: offsets } = entry;
  if (!isDtype(dtype)) {
    return fail(`unknown dtype ${describeJson(dtype)}; known are ${Object.keys(DTYPE_BYTES).join(', ')}`);
  }
  if (!isShape(shape)) return fail(`shape must be an array of integers ≥ 0, found ${describeJson(shape)}`);
  if (!isShape(offsets) || offsets.length !== 2) {
    return fail(`data_offsets must be two integers ≥ 0, found ${describeJson(offsets)}`);
  }
  const [begin = 0, end = 0] = offsets;
  const expected = byteLength(dtype, shape);
  if (expected === undefined)
    return fail(`shape ${describeJson(shape)} has more elements than a file can hold`);
  if (end - begin !== expected) {
    return fail(
      `${dtype} ${describeJson(shape)} takes ${expected} bytes, but data_offsets ${describeJson(offsets)} hold ${end - begin}`,
    );
  }
  return { dtype, shape, begin, end };
}

/** @param tensors in the order of their offsets. */
function checkCoverage(
  file: string,
  tensors: readonly (readonly [string, TensorInfo])[],
  dataBytes: number,
): void {
  let covered = 0;
  for (const [name, { begin, end }] of tensors) {
    if (end > dataBytes) {
      const problem = `its data ends at byte ${end}, but the file has only ${dataBytes} bytes of data; the file is cut short`;
      throw new FormatError(file, `tensor ${excerpt(name)}: ${problem}`);
    }
    if (begin !== covered) {
      const kind = begin < covered ? 'they overlap' : 'there is a gap';
      const problem = `its data begins at byte ${begin}, but the data before it ends at ${covered}: ${kind}`;
      throw new FormatError(file, `tensor ${excerpt(name)}: ${problem}`);
    }
    covered = end;
  }
  if (covered !== dataBytes) {
    throw new FormatError(file, `${dataBytes - covered} bytes after the last tensor belong to no tensor`);
  }
}
