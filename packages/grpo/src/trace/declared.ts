/** What the run says that it does, in terms that every trainer's settings can be put into. */
import { z } from 'zod';
import { real } from './real.js';

/** Declared settings. What a producer's configuration does not tell is missing, not guessed. */
export const declaredSchema = z.object({
  groupSize: real.optional(),
  maxPromptTokens: real.optional(),
  maxNewTokens: real.optional(),
  minNewTokens: real.optional(),
  temperature: real.optional(),
  topP: real.optional(),
  topK: real.optional(),
  minP: real.optional(),
  repetitionPenalty: real.optional(),
  presencePenalty: real.optional(),
  frequencyPenalty: real.optional(),
  stop: z.array(z.string()).optional(),
  /** `grpo`, `dapo`, `bnpo`, `dr_grpo`, …, as TRL names them. */
  loss: z.string().optional(),
  beta: real.optional(),
  /** `k1`, `k2`, `k3`, `full`. */
  kl: z.string().optional(),
  /** Of the KL a token, where β follows it. */
  klTarget: real.optional(),
  clipLow: real.optional(),
  clipHigh: real.optional(),
  entropyCoefficient: real.optional(),
  scaleRewards: z.enum(['group', 'batch', 'none']).optional(),
  advantageEpsilon: real.optional(),
  /** 1 divides the sum of squares by n − 1, 0 by n. */
  advantageDdof: real.optional(),
  /** Advantages are clipped to ± this. */
  advantageClip: real.optional(),
  /** `token`, or `sequence` as in GSPO. */
  ratioLevel: z.string().optional(),
  oldLogprobs: z.enum(['detach', 'recompute', 'sampler']).optional(),
  /** Optimizer updates from one rollout. */
  updatesPerRollout: real.optional(),
  maskTruncated: z.boolean().optional(),
  learningRate: real.optional(),
  maxGradNorm: real.optional(),
  weightDecay: real.optional(),
  /** Of the weights that the forward pass reads. */
  dtype: z.string().optional(),
  /** Whether the optimizer keeps float32 weights beside them. */
  masterWeights: z.boolean().optional(),
  /** Modules with dropout that were in training mode while the policy was scored. */
  activeDropout: z.array(z.string()).optional(),
  rewardWeights: z.array(real).optional(),
  /** Stages of the step that a user put in place of the standard ones: settings tell nothing of what they do. */
  ownStages: z.array(z.string()).optional(),
});

export type Declared = z.output<typeof declaredSchema>;
