import { z } from 'zod';
import { count, nonNegative, positiveCount } from './numbers.js';

/** When and how the model is evaluated. */
export const evalSection = z.strictObject({
  every: count.default(0).describe('Steps between evaluations: 0 = only before and after'),
  samples: count
    .default(1)
    .describe(
      'Sampled completions of a problem beside the greedy one: more narrows the interval, 0 = greedy only',
    ),
  temperature: nonNegative.default(1).describe('Temperature of the sampled completions'),
  limit: positiveCount
    .default(200)
    .describe('Most held-out problems to evaluate on: more narrows the interval and takes longer'),
  before: z.boolean().default(true).describe('Also evaluate before the first step, to compare with'),
});

/** When the run can be resumed from. */
export const checkpointSection = z.strictObject({
  every: count
    .default(0)
    .describe('Steps between checkpoints: less loses less when stopped, 0 = only at the end'),
  keep: positiveCount.default(2).describe('Newest checkpoints kept on disk; older ones are deleted'),
});
