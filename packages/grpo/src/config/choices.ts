/**
 * The choices of the algorithm, each list written once: the schema offers them, the objective computes them, a record
 * declares them, and the doctor recomputes them.
 */

/** Terms that move the policy; see `objective/policy-term.ts`. */
export const POLICY_TERMS = [
  'clip',
  'reinforce',
  'cispo',
  'sapo',
  'vespo',
  'gmpo',
  'dppo_tv',
  'dppo_kl',
] as const;
export type PolicyTerm = (typeof POLICY_TERMS)[number];

/** Levels at which policy and old policy are compared; see `objective/ratio.ts`. */
export const RATIO_LEVELS = ['none', 'token', 'sequence', 'sequence_token'] as const;
export type RatioLevel = (typeof RATIO_LEVELS)[number];

/** Weights of a token in the sum that is the loss; see `objective/aggregation.ts`. */
export const AGGREGATIONS = ['sequence_mean', 'token_mean', 'micro_token_mean', 'constant', 'sum'] as const;
export type Aggregation = (typeof AGGREGATIONS)[number];

/** Where old log-probs come from. */
export const OLD_LOGPROBS = ['detach', 'recompute', 'sampler'] as const;

/** Trainers whose numbers replace ours: TRL from 1.11 on, and up to 1.10; see `objective/trl.ts`. */
export const COMPATS = ['trl', 'trl-1.10'] as const;
export type Compat = (typeof COMPATS)[number];

/** Baselines of a reward; see `objective/advantage.ts`. */
export const BASELINES = ['group', 'leave_one_out', 'none'] as const;
export type Baseline = (typeof BASELINES)[number];

/** Divisors of the advantages: the standard deviation of the group or of the batch, the group's mean (MaxRL), or none. */
export const SCALES = ['group', 'batch', 'mean', 'none'] as const;
export type Scale = (typeof SCALES)[number];

/** Treatments of a group without a difference in reward. */
export const FLAT_GROUPS = ['zero', 'drop', 'raw'] as const;

/** Orders of summing several rewards and comparing them. */
export const COMBINATIONS = ['sum_then_normalize', 'normalize_then_sum'] as const;

/** Estimates of the KL to the reference; see `objective/kl.ts`. */
export const KL_ESTIMATORS = ['k1', 'k2', 'k3', 'abs', 'full'] as const;
export type KlEstimator = (typeof KL_ESTIMATORS)[number];

/** Levels of the KL: each token, or a completion's mean or summed log-probs. */
export const KL_LEVELS = ['token', 'sequence_mean', 'sequence_sum'] as const;

/** Places of the KL. */
export const KL_PLACES = ['loss', 'reward'] as const;

/** Rises of β over its warm-up. */
export const WARMUPS = ['linear', 'zero'] as const;

/** Ways in which β follows the KL; see `objective/beta.ts`. */
export const BETA_CONTROLS = ['fixed', 'adaptive', 'lagrangian'] as const;

/** Levels of the correction for the sampler; see `objective/correction.ts`. */
export const CORRECTION_LEVELS = ['off', 'token', 'sequence', 'sequence_mean', 'sequence_max'] as const;

/** What a correction holds within its bounds: trainer to sampler probability, or a distance of the two. */
export const CORRECTION_MEASURES = ['ratio', 'probability', 'k3', 'binary_kl'] as const;
export type CorrectionMeasure = (typeof CORRECTION_MEASURES)[number];

/** Treatments of tokens: weights moved to a bound, weights of 0 beyond it, or no weight but 0 beyond it. */
export const CORRECTION_ACTIONS = ['truncate', 'mask', 'reject'] as const;

/** Engines that sample completions: this process, or servers that speak vLLM's or SGLang's HTTP. */
export const ROLLOUT_ENGINES = ['own', 'vllm', 'sglang'] as const;
export type RolloutEngine = (typeof ROLLOUT_ENGINES)[number];

/** Which of the places that a denoising step predicted are kept; the others stay masked. */
export const REMASKINGS = ['low_confidence', 'random'] as const;

/** Estimates of a completion's log-probs under a masked-diffusion model; see `objective/masked/estimators.ts`. */
export const ESTIMATORS = ['d1', 'coupled', 'sum_masked'] as const;
export type Estimator = (typeof ESTIMATORS)[number];

/** Answers to a reward function that fails on a completion. */
export const REWARD_ERRORS = ['stop', 'drop'] as const;
export type OnRewardError = (typeof REWARD_ERRORS)[number];
