import { z } from 'zod';
import { BASELINES, COMBINATIONS, FLAT_GROUPS, SCALES } from '../choices.js';
import { nonNegative, positive } from './number-schemas.js';

/** How rewards become advantages. */
export const advantageSection = z.strictObject({
  baseline: z
    .enum(BASELINES)
    .optional()
    .describe(
      "Taken from each reward: its group's mean, the mean of the group's others, or nothing. group, or that of objective.loss, when not given",
    ),
  scale: z
    .enum(SCALES)
    .optional()
    .describe(
      "Divides the advantages: the standard deviation of the group or of the whole batch, the group's mean reward (MaxRL: rewards of 0 and 1), or nothing. group, or that of objective.loss, when not given",
    ),
  ddof: z
    .union([z.literal(0), z.literal(1)])
    .default(1)
    .describe('The deviation divides by n - 1 (1) or by n (0)'),
  epsilon: nonNegative
    .default(1e-4)
    .describe('Added to the deviation: more damps groups of nearly equal rewards')
    .meta({ unit: 'of reward' }),
  floor: nonNegative
    .default(0)
    .describe('Least deviation that divides: more damps nearly equal rewards. 0 = off')
    .meta({ unit: 'of reward' }),
  flatBelow: nonNegative
    .default(0)
    .describe(
      'Groups with a smaller deviation count as flat: more ignores small differences. 0 takes only equal rewards',
    )
    .meta({ unit: 'of reward' }),
  flat: z
    .enum(FLAT_GROUPS)
    .default('zero')
    .describe('A flat group gets advantages of 0, no part in the update, or its rewards as advantages'),
  whiten: z.boolean().default(false).describe('Standardizes the advantages over the batch, after all else'),
  clip: positive
    .optional()
    .describe('Bounds the advantages to +- this: less tames outliers. Off when not given'),
  combine: z
    .enum(COMBINATIONS)
    .default('sum_then_normalize')
    .describe(
      'Several rewards are summed and then compared, or each compared in its group and then summed (GDPO)',
    ),
});
