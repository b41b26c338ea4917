import { z } from 'zod';

// The type is written out: what would be inferred cannot be put into a declaration file.
/** A number, or the name of one that JSON lacks. */
export const real: z.ZodType<number, number | string> = z.union([
  z.number(),
  z.nan(),
  z.literal(Number.POSITIVE_INFINITY),
  z.literal(Number.NEGATIVE_INFINITY),
  z.enum(['NaN', 'Infinity', '-Infinity']).transform(Number),
]);

/** A short list of numbers: in the JSON, or a tensor as all others. */
export const listed = <T>(item: z.ZodType<T>) =>
  z.preprocess(
    (value) => (ArrayBuffer.isView(value) ? Array.from(value as Float64Array, Number) : value),
    z.array(item),
  );
