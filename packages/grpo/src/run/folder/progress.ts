import { z } from 'zod';
import { controlSchema } from '../../step/control.js';

/**
 * What a run carries from one checkpoint to the next, beside weights and optimizer: steps done, tokens seen, problems
 * taken, and the weights of the objective that have changed; and what tells whether a resumed run goes on from there:
 * checksums of what the last step left, digests of the live state, and completions with their log-probs.
 */
export const progressSchema = z.object({
  step: z.int().nonnegative(),
  tokens: z.int().nonnegative(),
  problems: z.int().nonnegative().optional(),
  control: controlSchema.optional(),
  checksums: z
    .object({
      policy: z.number(),
      optimizer: z.number(),
      reference: z.number().optional(),
      first: z.number().optional(),
    })
    .optional(),
  digests: z.record(z.string(), z.string()).optional(),
  completions: z
    .array(
      z.object({
        prompt: z.array(z.int()),
        ids: z.array(z.int()),
        logprobs: z.array(z.number()),
        region: z.array(z.int()).optional(),
      }),
    )
    .optional(),
});

export type Progress = z.infer<typeof progressSchema>;
