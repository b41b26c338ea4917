/** Numbers of a record, as typed arrays, and rows of unequal length in one of them. */
import { z } from 'zod';

/** Every kind of array that a record's file can hold; bfloat16 and float16 are read as float32. */
export type NumericArray =
  | Float32Array
  | Float64Array
  | Int32Array
  | BigInt64Array
  | Int16Array
  | Int8Array
  | Uint8Array;

function isNumeric(value: unknown): value is NumericArray {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

const numeric = z.custom<NumericArray>(isNumeric, 'must be a tensor in the record’s safetensors file');

/** Whole numbers: ids, lengths, indices. Another writer may store them as int64. */
export const ints = numeric.transform((values) =>
  values instanceof Int32Array ? values : Int32Array.from(values as ArrayLike<number | bigint>, Number),
);

/** Log-probabilities, entropies, loss terms. */
export const floats = numeric.transform((values) =>
  values instanceof Float32Array ? values : Float32Array.from(values as ArrayLike<number | bigint>, Number),
);

/** Rewards and advantages: identities between them are held to double precision. */
export const doubles = numeric.transform((values) =>
  values instanceof Float64Array ? values : Float64Array.from(values as ArrayLike<number | bigint>, Number),
);

/** Masks and small codes. */
export const bytes = numeric.transform((values) =>
  values instanceof Uint8Array ? values : Uint8Array.from(values as ArrayLike<number | bigint>, Number),
);

/** Where each row begins, and after the last one the end: `[B + 1]`. */
export function offsetsOf(lengths: ArrayLike<number>): Int32Array {
  const offsets = new Int32Array(lengths.length + 1);
  for (let i = 0; i < lengths.length; i++) offsets[i + 1] = offsets[i]! + lengths[i]!;
  return offsets;
}

/** The rows of `values`, one after another of the given lengths, without a copy. */
export function rowsOf<A extends Int32Array | Float32Array | Float64Array | Uint8Array>(
  values: A,
  lengths: ArrayLike<number>,
): A[] {
  const offsets = offsetsOf(lengths);
  return Array.from(lengths, (_, i) => values.subarray(offsets[i]!, offsets[i + 1]!) as A);
}
