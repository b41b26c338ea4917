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
  /** What the loss is composed of, in the words of the setting `objective`; of a loss of one's own nothing. */
  policy: z.string().optional(),
  /** `none`, `token`, `sequence` as in GSPO, `sequence_token`. */
  ratioLevel: z.string().optional(),
  aggregation: z.string().optional(),
  /** Tokens that the aggregation `constant` divides by. */
  normalizer: real.optional(),
  beta: real.optional(),
  /** `k1`, `k2`, `k3`, `abs`, `full`. */
  kl: z.string().optional(),
  /** `token`, `sequence_mean`, `sequence_sum`. */
  klLevel: z.string().optional(),
  /** `loss`, or `reward`: taken from the rewards. */
  klPlace: z.string().optional(),
  klBiasCorrected: z.boolean().optional(),
  /** Bound of the difference of log-probs, in nats. */
  klClip: real.optional(),
  /** KL that β follows: `adaptive` multiplies β by up or down outside of a band, `lagrangian` adds rate × distance. */
  klControl: z.string().optional(),
  klTarget: real.optional(),
  klBand: real.optional(),
  klUp: real.optional(),
  klDown: real.optional(),
  klRate: real.optional(),
  /** Steps whose median KL it follows. */
  klWindow: real.optional(),
  /** Bounds of such a β. */
  betaLeast: real.optional(),
  betaMost: real.optional(),
  /** Steps until β has its full weight, and follows the KL. */
  betaWarmupSteps: real.optional(),
  /** Updates after which the policy is mixed into the reference; 0 or missing where it stays what it is. */
  referenceEvery: real.optional(),
  clipLow: real.optional(),
  clipHigh: real.optional(),
  /** Upper bound of the unclipped ratio. */
  delta: real.optional(),
  /** Absolute bound of the ratio in `cispo`. */
  cap: real.optional(),
  /** Slopes of the gate of `sapo` for advantages above 0, and for the others. */
  slopePositive: real.optional(),
  slopeNegative: real.optional(),
  /** Exponent and decay of the weight of `vespo` for advantages from 0 on, and below. */
  vespoPositive: z.tuple([real, real]).optional(),
  vespoNegative: z.tuple([real, real]).optional(),
  /** Share of the tokens that the policy term is kept for, those of highest entropy. */
  topEntropy: real.optional(),
  /** Of the off-policy mask. */
  offPolicyThreshold: real.optional(),
  /** Correction for the sampler: `token` or `sequence`. */
  correction: z.string().optional(),
  /** `truncate` or `mask`, and the bounds of the weight. */
  correctionAction: z.string().optional(),
  correctionMin: real.optional(),
  correctionMax: real.optional(),
  /** `trl` or `trl-1.10`: whose numbers are taken where ours depart from them. */
  compat: z.string().optional(),
  entropyCoefficient: real.optional(),
  scaleRewards: z.enum(['group', 'batch', 'none']).optional(),
  /** `group`, `leave_one_out`, `none`. */
  baseline: z.string().optional(),
  advantageEpsilon: real.optional(),
  /** 1 divides the sum of squares by n − 1, 0 by n. */
  advantageDdof: real.optional(),
  /** Least deviation that divides. */
  advantageFloor: real.optional(),
  /** Groups whose deviation is below count as flat, and what these get: `zero`, `drop`, `raw`. */
  flatBelow: real.optional(),
  flat: z.string().optional(),
  /** Advantages are standardized over the batch. */
  whiten: z.boolean().optional(),
  /** `sum_then_normalize`, `normalize_then_sum`. */
  combine: z.string().optional(),
  /** Advantages are clipped to ± this. */
  advantageClip: real.optional(),
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
