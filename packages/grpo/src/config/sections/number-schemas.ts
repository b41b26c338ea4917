import { z } from 'zod';
import { BYTES, parseByteCount } from '../../errors/byte-count.js';

/** 0, 1, 2, … */
export const count = z.number().int().min(0);
/** 1, 2, 3, … */
export const positiveCount = z.number().int().min(1);
/** A finite number that is 0 or more. */
export const nonNegative = z.number().min(0);
/** A finite number above 0. */
export const positive = z.number().gt(0);
/** A probability: 0 to 1, both included. */
export const probability = z.number().min(0).max(1);

/** `auto`, or bytes: a whole number, or text such as `12GB` and `1.5 GiB`, which becomes one. */
export const byteBudget = z.union([
  z.literal('auto'),
  positiveCount,
  z
    .string()
    .regex(BYTES)
    .transform((text) => parseByteCount(text)!),
]);
