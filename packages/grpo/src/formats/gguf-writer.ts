/**
 * GGUF version 3, the file of llama.cpp: metadata, then tensors. Little-endian; a string is its length (uint64) and its
 * UTF-8, an array its type, its length and its values. Tensors begin at multiples of 32 bytes.
 * https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 */
import { basename } from 'node:path';
import { requireFree } from '../errors/file-error.js';
import { FormatError } from '../errors/format-error.js';
import { excerpt } from '../errors/printable.js';
import { Watch } from '../progress/watch.js';
import { writeAtomic } from './atomic-file.js';

/** A value of the metadata, with its type. */
export type GgufValue =
  | readonly ['uint32', number]
  | readonly ['float32', number]
  | readonly ['bool', boolean]
  | readonly ['string', string]
  | readonly ['int32[]', readonly number[]]
  | readonly ['float32[]', readonly number[]]
  | readonly ['string[]', readonly string[]];

/** Codes of the metadata's types. */
const VALUE_TYPES = { uint32: 4, int32: 5, float32: 6, bool: 7, string: 8, array: 9 } as const;

/** Element types of tensors: their codes, and the bytes of a block of so many elements. */
const TENSOR_TYPES = {
  F32: { code: 0, elements: 1, bytes: 4 },
  F16: { code: 1, elements: 1, bytes: 2 },
  Q8_0: { code: 8, elements: 32, bytes: 34 },
  BF16: { code: 30, elements: 1, bytes: 2 },
} as const;

export type GgufTensorType = keyof typeof TENSOR_TYPES;

/** A tensor to write. */
export interface GgufTensor {
  readonly name: string;
  readonly type: GgufTensorType;
  /** Row-major: the last size is that of a row, which is a multiple of 32 for Q8_0. */
  readonly shape: readonly number[];
  /** The tensor's bytes; called once, when its turn comes. */
  readonly data: () => Uint8Array;
}

const VERSION = 3;
const ALIGNMENT = 32;

/**
 * Writes a GGUF file, one tensor at a time: only one tensor's bytes are held. The file is written under a temporary name
 * and renamed, so `path` is never half a file.
 *
 * @returns the bytes of the file
 * @throws FileError when the disk has no room for it, or the system refuses; FormatError for a tensor whose bytes are not
 * as many as its type and shape take
 */
export function writeGguf(
  path: string,
  metadata: ReadonlyMap<string, GgufValue>,
  tensors: readonly GgufTensor[],
  watch = new Watch(),
): number {
  const sizes = tensors.map(sizeOf);
  const header = encodeHeader(metadata, tensors, sizes);
  const total = sizes.reduce((sum, size) => sum + aligned(size), header.length);
  requireFree(path, total);
  writeAtomic(
    path,
    (write) => {
      write(header);
      const progress = { stage: `writing ${basename(path)}`, done: header.length, total, unit: 'bytes' };
      for (const [i, { name, data }] of tensors.entries()) {
        watch.report({ ...progress });
        const bytes = data();
        if (bytes.length !== sizes[i]) {
          const problem = `its type and shape take ${sizes[i]} bytes, data() gave ${bytes.length}`;
          throw new FormatError(path, `cannot write tensor ${excerpt(name)}: ${problem}`);
        }
        write(bytes);
        write(new Uint8Array(aligned(bytes.length) - bytes.length));
        progress.done += aligned(bytes.length);
      }
      watch.report({ ...progress });
    },
    total,
  );
  return total;
}

const aligned = (bytes: number) => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;

function sizeOf({ type, shape }: GgufTensor): number {
  const { elements, bytes } = TENSOR_TYPES[type];
  return (shape.reduce((product, size) => product * size, 1) / elements) * bytes;
}

function encodeHeader(
  metadata: ReadonlyMap<string, GgufValue>,
  tensors: readonly GgufTensor[],
  sizes: readonly number[],
): Buffer {
  const parts = [Buffer.from('GGUF'), uint32(VERSION), uint64(tensors.length), uint64(metadata.size)];
  for (const [key, value] of metadata) parts.push(string(key), ...encodeValue(value));
  let offset = 0;
  for (const [i, { name, type, shape }] of tensors.entries()) {
    // The format gives the size of a row first.
    const sizesFromRow = [...shape].reverse().map(uint64);
    parts.push(string(name), uint32(shape.length), ...sizesFromRow);
    parts.push(uint32(TENSOR_TYPES[type].code), uint64(offset));
    offset += aligned(sizes[i]!);
  }
  const header = Buffer.concat(parts);
  return Buffer.concat([header], aligned(header.length));
}

function encodeValue([type, value]: GgufValue): Buffer[] {
  switch (type) {
    case 'uint32':
      return [uint32(VALUE_TYPES.uint32), uint32(value)];
    case 'float32':
      return [uint32(VALUE_TYPES.float32), float32s([value])];
    case 'bool':
      return [uint32(VALUE_TYPES.bool), Buffer.of(value ? 1 : 0)];
    case 'string':
      return [uint32(VALUE_TYPES.string), string(value)];
    case 'int32[]':
      return [...arrayOf('int32', value.length), Buffer.from(Int32Array.from(value).buffer)];
    case 'float32[]':
      return [...arrayOf('float32', value.length), float32s(value)];
    case 'string[]':
      return [...arrayOf('string', value.length), Buffer.concat(value.map(string))];
  }
}

const arrayOf = (type: keyof typeof VALUE_TYPES, length: number): Buffer[] => [
  uint32(VALUE_TYPES.array),
  uint32(VALUE_TYPES[type]),
  uint64(length),
];

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

const float32s = (values: readonly number[]) => Buffer.from(Float32Array.from(values).buffer);

function string(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8');
  return Buffer.concat([uint64(bytes.length), bytes]);
}
