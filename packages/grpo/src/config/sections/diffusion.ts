import { z } from 'zod';
import { ESTIMATORS, REMASKINGS } from '../choices.js';
import { positiveCount, probability } from './number-schemas.js';

const maskRate = z.number().gt(0).max(1);

/** A masked-diffusion model: how it fills a completion, and how its log-probs are estimated. */
export const diffusionSection = z.strictObject({
  blockLength: positiveCount
    .optional()
    .describe(
      "Places that are filled before the next block begins: fewer is closer to left to right. The model's own, else the whole completion, when not given",
    )
    .meta({ unit: 'tokens' }),
  steps: positiveCount
    .optional()
    .describe(
      "Denoising steps of a completion: fewer is faster and fills more places at once. The model's own, else one per token, when not given",
    )
    .meta({ unit: 'steps' }),
  remasking: z
    .enum(REMASKINGS)
    .default('low_confidence')
    .describe('What a denoising step masks again: the places it is least sure of, or random ones'),
  estimator: z
    .enum(ESTIMATORS)
    .default('d1')
    .describe(
      'Estimate of the log-probs: one pass with the whole completion hidden, that and two halves, or the sum over random places',
    ),
  promptMaskRate: probability
    .default(0.15)
    .describe(
      'Share of the prompt that the estimate d1 hides: more makes passes over one rollout differ more',
    )
    .meta({
      unit: 'of the prompt',
      appliesTo: { key: 'diffusion.estimator', values: ['d1'], else: 'does not hide the prompt' },
    }),
  maskRates: z
    .tuple([maskRate, maskRate])
    .default([0.2, 0.8])
    .describe('Least and largest share of the completion that the estimates coupled and sum_masked hide')
    .meta({
      appliesTo: {
        key: 'diffusion.estimator',
        values: ['coupled', 'sum_masked'],
        else: 'does not draw a share of the completion',
      },
    }),
});

export type DiffusionSettings = z.output<typeof diffusionSection>;
