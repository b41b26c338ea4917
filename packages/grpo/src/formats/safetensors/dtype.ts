/** The element types that are read and written, with their bytes an element. */
export const DTYPE_BYTES = {
  F64: 8,
  F32: 4,
  F16: 2,
  BF16: 2,
  I64: 8,
  I32: 4,
  I16: 2,
  I8: 1,
  U8: 1,
  BOOL: 1,
} as const;

/** A safetensors element type. Bytes are little-endian. */
export type SafetensorsDtype = keyof typeof DTYPE_BYTES;

export function isDtype(name: unknown): name is SafetensorsDtype {
  return typeof name === 'string' && Object.hasOwn(DTYPE_BYTES, name);
}

export function isShape(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);
}

/**
 * The bytes of a contiguous tensor; a scalar's shape is `[]`.
 * @returns undefined when the count passes 2^53, more than any file holds.
 */
export function byteLength(dtype: SafetensorsDtype, shape: readonly number[]): number | undefined {
  let bytes: number = DTYPE_BYTES[dtype];
  for (const size of shape) {
    bytes *= size;
    if (!Number.isSafeInteger(bytes)) return undefined;
  }
  return bytes;
}
