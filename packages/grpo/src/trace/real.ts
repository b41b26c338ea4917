import { z } from 'zod';

/** A number, or the name of one that JSON lacks. */
export const real = z.union([
  z.number(),
  z.nan(),
  z.literal(Number.POSITIVE_INFINITY),
  z.literal(Number.NEGATIVE_INFINITY),
  z.enum(['NaN', 'Infinity', '-Infinity']).transform(Number),
]);
