import { z } from 'zod';
import { AGGREGATIONS, COMPATS, OLD_LOGPROBS, POLICY_TERMS, RATIO_LEVELS } from '../choices.js';
import { LOSS_NAMES } from '../loss-names.js';
import { nonNegative, positive, positiveCount } from './number-schemas.js';

const TRUST_REGION = {
  appliesTo: {
    key: 'objective.policy',
    values: ['dppo_tv', 'dppo_kl'],
    else: 'has no trust region of probabilities',
  },
};

/** The loss. */
export const objectiveSection = z.strictObject({
  loss: z
    .enum(LOSS_NAMES)
    .default('dapo')
    .describe(
      'Named combination of a policy term, a ratio and an aggregation; each can also be set on its own',
    ),
  module: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Your own loss: a module whose default export is a Loss; it replaces policy, ratio and aggregation',
    ),
  policy: z
    .enum(POLICY_TERMS)
    .optional()
    .describe('Term that moves the policy. That of objective.loss when not given'),
  ratio: z
    .enum(RATIO_LEVELS)
    .optional()
    .describe(
      'Unit that is compared with the old policy: none, each token, or the whole completion. That of objective.loss when not given',
    ),
  aggregation: z
    .enum(AGGREGATIONS)
    .optional()
    .describe(
      'Unit that has equal weight: completions, tokens of the update, tokens of a micro-batch, or tokens divided by a constant or by nothing. That of objective.loss when not given',
    ),
  normalizer: positiveCount
    .optional()
    .describe(
      'Tokens that aggregation=constant divides by: more shrinks the gradient. rollout.maxNewTokens when not given',
    )
    .meta({ unit: 'tokens' }),
  clipLow: z
    .number()
    .min(0)
    .max(1)
    .default(0.2)
    .describe('The ratio is clipped at 1 - clipLow: less makes smaller updates from one rollout')
    .meta({ appliesTo: { key: 'objective.policy', values: ['clip', 'gmpo'], else: 'does not clip' } }),
  clipHigh: nonNegative
    .optional()
    .describe(
      'The ratio is clipped at 1 + clipHigh: more lets rare tokens grow. objective.clipLow when not given',
    )
    .meta({ appliesTo: { key: 'objective.policy', values: ['clip', 'gmpo'], else: 'does not clip' } }),
  delta: positive
    .optional()
    .describe(
      'Bound of the unclipped ratio, for advantages below 0 (dual clip): less is safer. None when not given',
    )
    .meta({ appliesTo: { key: 'objective.policy', values: ['clip'], else: 'has no second bound' } }),
  cap: positive
    .optional()
    .describe(
      'Absolute bound of the ratio as a weight: more keeps more of an off-policy gradient. 5 with policy=cispo, 20 with dppo_tv and dppo_kl, when not given',
    )
    .meta({
      appliesTo: {
        key: 'objective.policy',
        values: ['cispo', 'dppo_tv', 'dppo_kl'],
        else: 'has no cap',
      },
    }),
  divergenceLow: nonNegative
    .optional()
    .describe(
      "Most that a token's probability may have fallen (policy=dppo_tv), or its KL from the old policy (dppo_kl), to be pushed down further: less is safer. 0.2 or 0.05 when not given",
    )
    .meta(TRUST_REGION),
  divergenceHigh: nonNegative
    .optional()
    .describe(
      'The same for a token that is pushed up, whose probability rose. objective.divergenceLow when not given',
    )
    .meta(TRUST_REGION),
  slopePositive: positive
    .default(1)
    .describe('Slope of the gate of policy=sapo for advantages above 0: more closes it sooner')
    .meta({ appliesTo: { key: 'objective.policy', values: ['sapo'], else: 'has no gate' } }),
  slopeNegative: positive
    .default(1.05)
    .describe('The same for the other advantages')
    .meta({ appliesTo: { key: 'objective.policy', values: ['sapo'], else: 'has no gate' } }),
  vespoPositive: z
    .tuple([nonNegative, nonNegative])
    .default([2, 3])
    .describe(
      'Exponent and decay of the weight of policy=vespo for advantages from 0 on: more is narrower around 1',
    )
    .meta({ appliesTo: { key: 'objective.policy', values: ['vespo'], else: 'does not weigh by it' } }),
  vespoNegative: z
    .tuple([nonNegative, nonNegative])
    .default([3, 2])
    .describe('The same for advantages below 0')
    .meta({ appliesTo: { key: 'objective.policy', values: ['vespo'], else: 'does not weigh by it' } }),
  oldLogprobs: z
    .enum(OLD_LOGPROBS)
    .default('detach')
    .describe(
      'Old log-probs of the ratio: detach (the current ones, one update only), recompute (one more pass), sampler (as sampled)',
    ),
  iterations: positiveCount
    .default(1)
    .describe('Passes over one rollout: more learns more from it and drifts further from the sampler')
    .meta({ unit: 'passes per rollout' }),
  minibatches: positiveCount
    .default(1)
    .describe('Optimizer steps per pass: more takes more, noisier steps; divides rollout.prompts')
    .meta({ unit: 'updates per pass' }),
  maskTruncated: z
    .boolean()
    .default(false)
    .describe(
      'Leaves completions that were cut at rollout.maxNewTokens out of the loss; their rewards still count for their group',
    ),
  offPolicyThreshold: nonNegative
    .optional()
    .describe(
      'Leaves out completions with a negative advantage whose log-probs fell by more than this per token since they were sampled: less leaves out more. Off when not given',
    )
    .meta({ unit: 'nats per token' }),
  compat: z
    .enum(COMPATS)
    .optional()
    .describe(
      "TRL's numbers where ours depart from them: as of 1.11, or as of 1.10 and before. Ours when not given",
    ),
});
