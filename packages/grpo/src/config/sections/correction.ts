import { z } from 'zod';
import { CORRECTION_ACTIONS, CORRECTION_LEVELS } from '../choices.js';
import { nonNegative, positive } from './number-schemas.js';

/** Correction for a sampler whose log-probs are not quite the trainer's. */
export const correctionSection = z.strictObject({
  level: z
    .enum(CORRECTION_LEVELS)
    .default('off')
    .describe("Weighs tokens by trainer / sampler probability: each by its own, or by its completion's"),
  action: z
    .enum(CORRECTION_ACTIONS)
    .default('truncate')
    .describe('A weight outside of the bounds is moved to the bound, or set to 0'),
  min: nonNegative
    .optional()
    .describe('Lower bound of the weight: more leaves out more. None when not given'),
  max: positive.optional().describe('Upper bound of the weight: less tames outliers. None when not given'),
});
