import { z } from 'zod';
import { LOSS_NAMES } from '../loss-names.js';
import { count, nonNegative, positive, positiveCount, probability } from './numbers.js';

/** What is minimized. */
export const objectiveSection = z.strictObject({
  loss: z
    .enum(LOSS_NAMES)
    .default('dapo')
    .describe('Names a policy term, a ratio and an aggregation; each of them can be set on its own'),
  module: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Your own loss: a module whose default export is a Loss. Policy, ratio and aggregation are then its own',
    ),
  policy: z
    .enum(['clip', 'reinforce', 'cispo', 'sapo', 'vespo', 'gmpo'])
    .optional()
    .describe('Term that moves the policy. That of objective.loss when not given'),
  ratio: z
    .enum(['none', 'token', 'sequence', 'sequence_token'])
    .optional()
    .describe(
      'What is compared with the old policy: nothing, each token, or whole completions. That of objective.loss when not given',
    ),
  aggregation: z
    .enum(['sequence_mean', 'token_mean', 'micro_token_mean', 'constant', 'sum'])
    .optional()
    .describe(
      'What counts the same: completions, tokens of the update or of a micro-batch, or tokens over a constant or nothing. That of objective.loss when not given',
    ),
  normalizer: positiveCount
    .optional()
    .describe(
      'Tokens that aggregation=constant divides by: more shrinks the gradient. rollout.maxNewTokens when not given',
    ),
  clipLow: z
    .number()
    .min(0)
    .max(1)
    .default(0.2)
    .describe('The ratio is clipped at 1 - clipLow: less makes smaller updates from one rollout'),
  clipHigh: nonNegative
    .optional()
    .describe(
      'The ratio is clipped at 1 + clipHigh: more lets rare tokens grow. objective.clipLow when not given',
    ),
  delta: positive
    .optional()
    .describe(
      'Bound of the unclipped ratio, for advantages below 0 (dual clip): less is safer. None when not given',
    ),
  cap: positive
    .default(5)
    .describe('Absolute bound of the ratio in policy=cispo: more keeps more of an off-policy gradient'),
  slopePositive: positive
    .default(1)
    .describe('Slope of the gate of policy=sapo for advantages above 0: more closes it sooner'),
  slopeNegative: positive.default(1.05).describe('The same for the other advantages'),
  vespoPositive: z
    .tuple([nonNegative, nonNegative])
    .default([2, 3])
    .describe(
      'Exponent and decay of the weight of policy=vespo for advantages from 0 on: more is narrower around 1',
    ),
  vespoNegative: z
    .tuple([nonNegative, nonNegative])
    .default([3, 2])
    .describe('The same for advantages below 0'),
  oldLogprobs: z
    .enum(['detach', 'recompute', 'sampler'])
    .default('detach')
    .describe(
      'Old log-probs of the ratio: detach (the current ones, one update only), recompute (one more pass), sampler (as sampled)',
    ),
  iterations: positiveCount
    .default(1)
    .describe('Passes over one rollout: more learns more from it and drifts further from the sampler'),
  minibatches: positiveCount
    .default(1)
    .describe('Optimizer steps a pass: more takes more, noisier steps; divides rollout.prompts'),
  maskTruncated: z
    .boolean()
    .default(false)
    .describe(
      'Leaves completions that were cut at rollout.maxNewTokens out of the loss; their rewards still count for their group',
    ),
  offPolicyThreshold: nonNegative
    .optional()
    .describe(
      'Leaves out completions with a negative advantage whose log-probs fell by more than this a token since they were sampled: less leaves out more. Off when not given',
    ),
  compat: z
    .enum(['trl', 'trl-1.10'])
    .optional()
    .describe(
      "TRL's numbers where ours depart from them: as of 1.11, or as of 1.10 and before. Ours when not given",
    ),
});

/** How rewards become advantages. */
export const advantageSection = z.strictObject({
  baseline: z
    .enum(['group', 'leave_one_out', 'none'])
    .optional()
    .describe(
      "Taken from each reward: its group's mean, the mean of the group's others, or nothing. group, or that of objective.loss, when not given",
    ),
  scale: z
    .enum(['group', 'batch', 'none'])
    .optional()
    .describe(
      'Standard deviation that divides: of the group, of the whole batch, or none. group, or that of objective.loss, when not given',
    ),
  ddof: z
    .union([z.literal(0), z.literal(1)])
    .default(1)
    .describe('The deviation divides by n - 1 (1) or by n (0)'),
  epsilon: nonNegative
    .default(1e-4)
    .describe('Added to the deviation: more damps groups of nearly equal rewards'),
  floor: nonNegative
    .default(0)
    .describe('Least deviation that divides: more damps nearly equal rewards. 0 = off'),
  flatBelow: nonNegative
    .default(0)
    .describe(
      'Groups with a smaller deviation count as flat: more ignores small differences. 0 takes only equal rewards',
    ),
  flat: z
    .enum(['zero', 'drop', 'raw'])
    .default('zero')
    .describe('A flat group gets advantages of 0, no part in the update, or its rewards as advantages'),
  whiten: z.boolean().default(false).describe('Standardizes the advantages over the batch, after all else'),
  clip: positive
    .optional()
    .describe('Bounds the advantages to +- this: less tames outliers. Off when not given'),
  combine: z
    .enum(['sum_then_normalize', 'normalize_then_sum'])
    .default('sum_then_normalize')
    .describe(
      'Several rewards are summed and then compared, or each compared in its group and then summed (GDPO)',
    ),
});

/** The KL to the reference. */
export const klSection = z.strictObject({
  beta: nonNegative
    .default(0)
    .describe(
      'Weight of the KL to the starting model, at first where it changes: more stays closer to it; 0 = off, saves a pass and its memory',
    ),
  estimator: z
    .enum(['k1', 'k2', 'k3', 'abs', 'full'])
    .default('k3')
    .describe(
      'Estimate of the KL from log-probs, or the full one over the vocabulary (one more forward pass a micro-batch)',
    ),
  level: z
    .enum(['token', 'sequence_mean', 'sequence_sum'])
    .default('token')
    .describe("Of each token, or of a completion's mean or summed log-probs"),
  place: z
    .enum(['loss', 'reward'])
    .default('loss')
    .describe('Added to the loss, or taken from the reward before the advantages'),
  biasCorrected: z
    .boolean()
    .default(false)
    .describe('Multiplies the KL by the ratio, so that it is that of the policy being trained'),
  clip: positive
    .optional()
    .describe(
      'Bounds the difference of log-probs to +- this, in nats: less tames outliers. Off when not given',
    ),
  warmupSteps: count
    .default(0)
    .describe('Steps before kl.beta has its full weight: more lets the policy move first'),
  warmup: z
    .enum(['linear', 'zero'])
    .default('linear')
    .describe('Over the warm-up the weight rises in a line from 0, or is 0'),
  control: z
    .enum(['fixed', 'adaptive', 'lagrangian'])
    .default('fixed')
    .describe(
      'After each step the weight stays; is multiplied by kl.up or kl.down when the KL is off kl.target; or moves by kl.rate × (KL - target)',
    ),
  target: positive
    .optional()
    .describe(
      'KL, as the metric kl has it, that the weight is moved towards: more lets the policy go further',
    ),
  band: nonNegative
    .default(0.05)
    .describe(
      'control=adaptive: share of the target by which the KL may be off it: more leaves the weight alone',
    ),
  up: z
    .number()
    .gt(1)
    .default(1.1)
    .describe(
      'control=adaptive: factor of the weight when the KL is too large: more reacts faster and overshoots',
    ),
  down: z
    .number()
    .gt(0)
    .lt(1)
    .default(0.9)
    .describe(
      'control=adaptive: factor of the weight when the KL is too small: less reacts faster and overshoots',
    ),
  rate: positive
    .default(0.1)
    .describe('control=lagrangian: more reacts faster to a KL that is off the target, and overshoots'),
  least: nonNegative
    .default(0)
    .describe('Lower bound of a weight that changes: more always holds the policy back'),
  most: positive
    .optional()
    .describe('Upper bound of a weight that changes: less never stops the policy. None when not given'),
  window: positiveCount
    .default(1)
    .describe('Steps whose median KL the weight follows: more is steadier and slower'),
  kindKey: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Field of a row that tells the kind of a problem: rewards, lengths, signal and KL are told by kind, and the KL of each has a weight of its own. One for all when not given',
    ),
  referenceEvery: count
    .default(0)
    .describe(
      'Updates after which the policy is mixed into the reference: fewer hold it back less. 0 = never',
    ),
  referenceMix: z
    .number()
    .gt(0)
    .max(1)
    .default(0.6)
    .describe('Share of the policy in that mixture: more moves the reference further, 1 replaces it'),
});

/** The entropy of the policy. */
export const entropySection = z.strictObject({
  coefficient: nonNegative
    .default(0)
    .describe('Weight of the entropy bonus: more keeps the policy undecided for longer, 0 = off'),
  topShare: probability
    .default(1)
    .describe(
      'Share of the tokens, those of highest entropy, that the policy learns from: less is sparser, 1 = all',
    ),
  adaptive: z
    .boolean()
    .default(false)
    .describe(
      'The weight follows the entropy: it grows after an update at or below entropy.target, falls after one above, and is off there',
    ),
  target: positive
    .default(0.2)
    .describe('Entropy, in nats a token, that entropy.adaptive holds: more keeps the policy more undecided'),
  delta: positive
    .default(0.005)
    .describe('Change of the adaptive weight an update: more reacts faster and swings further'),
  least: nonNegative.default(0).describe('Lower bound of the adaptive weight: more is a bonus sooner'),
  most: positive.default(1).describe('Upper bound of the adaptive weight: less never drowns the reward'),
});

/** Correction for a sampler whose log-probs are not quite the trainer's. */
export const correctionSection = z.strictObject({
  level: z
    .enum(['off', 'token', 'sequence'])
    .default('off')
    .describe("Weighs tokens by trainer / sampler probability: each by its own, or by its completion's"),
  action: z
    .enum(['truncate', 'mask'])
    .default('truncate')
    .describe('A weight outside of the bounds is moved to the bound, or set to 0'),
  min: nonNegative
    .optional()
    .describe('Lower bound of the weight: more leaves out more. None when not given'),
  max: positive.optional().describe('Upper bound of the weight: less tames outliers. None when not given'),
});
