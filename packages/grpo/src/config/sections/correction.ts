import { z } from 'zod';
import { CORRECTION_ACTIONS, CORRECTION_LEVELS, CORRECTION_MEASURES } from '../choices.js';
import { nonNegative, positive } from './number-schemas.js';

/** Correction for a sampler whose log-probs are not quite the trainer's. */
export const correctionSection = z.strictObject({
  level: z
    .enum(CORRECTION_LEVELS)
    .default('off')
    .describe(
      'Weighs tokens by trainer / sampler probability, and says what must be within the bounds: each token, or its completion by the product (sequence), the mean (of ratios the geometric one) or the largest of its tokens',
    ),
  measure: z
    .enum(CORRECTION_MEASURES)
    .default('ratio')
    .describe(
      'What must be within the bounds: trainer / sampler probability, or a distance of the two: |p - q|, k3, or the larger KL of the two outcomes token and no token. A token keeps its own weight where it is a distance',
    ),
  action: z
    .enum(CORRECTION_ACTIONS)
    .default('truncate')
    .describe(
      'Beyond the bounds a weight is moved to the bound, or set to 0 (mask); reject sets it to 0 too, and all others to 1',
    ),
  min: nonNegative
    .optional()
    .describe('Lower bound of the ratio: more leaves out more. None when not given')
    .meta({
      appliesTo: {
        key: 'correction.measure',
        values: ['ratio'],
        else: 'has no lower bound: it is a distance',
      },
    }),
  max: positive
    .optional()
    .describe('Upper bound: less tames outliers, and leaves out more. None when not given'),
});
