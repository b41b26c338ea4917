import { type Tensor, tensor, tidy } from '@grpo/torch';
import type { GgufTensorType } from '../formats/gguf-writer.js';

/** Elements of a block that share a scale. */
export const Q8_BLOCK = 32;
const SCALE_BYTES = 2;
const Q8_BYTES = SCALE_BYTES + Q8_BLOCK;

/** The bytes of a tensor in a type of GGUF; Q8_0 needs rows of a multiple of 32. */
export function encodeTensor(tensor: Tensor, type: GgufTensorType): Uint8Array {
  return tidy(() => {
    const float = tensor.detach();
    switch (type) {
      case 'F32':
        return float.to('float32').toBytes();
      case 'F16':
        return float.to('float16').toBytes();
      case 'BF16':
        return float.to('bfloat16').toBytes();
      case 'Q8_0':
        return quantise(float.to('float32'));
    }
  });
}

/**
 * Q8_0: for each 32 values x of a row a float16 scale d = max |x| / 127, and the bytes round(x / d), halves away from
 * zero. As in ggml, x is divided by the scale before that is rounded to float16.
 */
function quantise(values: Tensor): Uint8Array {
  const array = values.toTypedArray() as Float32Array;
  const scales = new Float32Array(array.length / Q8_BLOCK);
  const bytes = new Uint8Array(scales.length * Q8_BYTES);
  for (let block = 0; block < scales.length; block++) {
    const from = block * Q8_BLOCK;
    let largest = 0;
    for (let i = from; i < from + Q8_BLOCK; i++) largest = Math.max(largest, Math.abs(array[i]!));
    scales[block] = largest / 127;
    const inverse = largest > 0 ? Math.fround(1 / scales[block]!) : 0;
    const at = block * Q8_BYTES + SCALE_BYTES;
    for (let i = 0; i < Q8_BLOCK; i++) {
      const x = Math.fround(array[from + i]! * inverse);
      bytes[at + i] = x < 0 ? -Math.floor(0.5 - x) : Math.floor(x + 0.5);
    }
  }
  const half = tensor(scales).to('float16').toBytes();
  for (let block = 0; block < scales.length; block++) {
    bytes[block * Q8_BYTES] = half[2 * block]!;
    bytes[block * Q8_BYTES + 1] = half[2 * block + 1]!;
  }
  return bytes;
}
