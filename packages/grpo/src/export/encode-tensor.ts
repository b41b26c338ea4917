import { type Tensor, tensor, tidy } from '@grpo/torch';
import { UserError } from '../errors/user-error.js';
import type { GgufTensorType } from '../formats/gguf-writer.js';

/** Elements of a block that share a scale. */
export const Q8_BLOCK = 32;
const SCALE_BYTES = 2;
const Q8_BYTES = SCALE_BYTES + Q8_BLOCK;

const MAX_FLOAT16 = 65504;
/** The largest number of each type, and of any finite one. */
const LARGEST = { F32: Number.MAX_VALUE, BF16: Number.MAX_VALUE, F16: MAX_FLOAT16, Q8_0: 127 * MAX_FLOAT16 };

/**
 * The bytes of a tensor in a type of GGUF; Q8_0 needs rows of a multiple of 32.
 *
 * @param name - in the checkpoint, for errors
 * @throws UserError: a value is NaN or infinite, or too large for the type
 */
export function encodeTensor(values: Tensor, type: GgufTensorType, name: string): Uint8Array {
  return tidy(() => {
    const largest = Math.max(values.amax().item(), -values.amin().item());
    if (!(largest <= LARGEST[type])) {
      const tooLarge = Number.isFinite(largest);
      throw new UserError(
        tooLarge
          ? `tensor '${name}' holds ${largest}, and ${type} no number beyond ${LARGEST[type]}`
          : `tensor '${name}' holds NaN or infinite numbers`,
        { hint: tooLarge ? 'Write it with --type bf16.' : 'Export an earlier checkpoint.' },
      );
    }
    switch (type) {
      case 'F32':
        return values.to('float32').toBytes();
      case 'F16':
        return values.to('float16').toBytes();
      case 'BF16':
        return values.to('bfloat16').toBytes();
      case 'Q8_0':
        return quantise(values.to('float32'));
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
