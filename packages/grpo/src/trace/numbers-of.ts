/** The bytes of a stored tensor as numbers. */
import type { SafetensorsDtype } from '../formats/safetensors.js';
import type { NumericArray } from './arrays.js';

/** Half precision is widened to float32; a boolean is 0 or 1. `bytes` is aligned, as a file's tensor is read. */
export function numbersOf(dtype: SafetensorsDtype, bytes: Uint8Array): NumericArray {
  const { buffer, byteOffset: at, byteLength } = bytes;
  const count = (size: number) => byteLength / size;
  switch (dtype) {
    case 'F64':
      return new Float64Array(buffer, at, count(8));
    case 'F32':
      return new Float32Array(buffer, at, count(4));
    case 'BF16':
      return fromBfloat16(new Uint16Array(buffer, at, count(2)));
    case 'F16':
      return Float32Array.from(new Uint16Array(buffer, at, count(2)), fromFloat16);
    case 'I64':
      return new BigInt64Array(buffer, at, count(8));
    case 'I32':
      return new Int32Array(buffer, at, count(4));
    case 'I16':
      return new Int16Array(buffer, at, count(2));
    case 'I8':
      return new Int8Array(buffer, at, count(1));
    case 'U8':
    case 'BOOL':
      return bytes;
  }
}

/** bfloat16 is the upper half of a float32. */
function fromBfloat16(halves: Uint16Array): Float32Array {
  return new Float32Array(Uint32Array.from(halves, (half) => half << 16).buffer);
}

/** IEEE 754 binary16. */
function fromFloat16(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0x1f) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
