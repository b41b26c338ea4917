/** The choices that make up a loss: orthogonal, each a small function of its own. */

/** What the policy is moved by; see `policy-term.ts`. */
export type PolicyTerm = 'clip' | 'reinforce' | 'cispo' | 'sapo' | 'vespo' | 'gmpo';

/** What the policy is compared with the old one by; see `ratio.ts`. */
export type RatioLevel = 'none' | 'token' | 'sequence' | 'sequence_token';

/** How much a token weighs in the sum that is the loss; see `aggregation.ts`. */
export type Aggregation = 'sequence_mean' | 'token_mean' | 'micro_token_mean' | 'constant' | 'sum';

export type KlEstimator = 'k1' | 'k2' | 'k3' | 'abs' | 'full';

/** Of what the KL is estimated: each token, or a completion's mean or sum of log-probs. */
export type KlLevel = 'token' | 'sequence_mean' | 'sequence_sum';

/** `trl`: as TRL does from 1.11 on; `trl-1.10`: as it did up to then. */
export type Compat = 'trl' | 'trl-1.10';

/** How rewards become advantages. */
export interface AdvantageSettings {
  /** What is subtracted: the group's mean, the mean of the group's others (RLOO), or nothing. */
  baseline: 'group' | 'leave_one_out' | 'none';
  /** Whose standard deviation divides. */
  scale: 'group' | 'batch' | 'none';
  /** 1 divides the sum of squares by n − 1, 0 by n. */
  ddof: 0 | 1;
  /** Added to the deviation: keeps a group of nearly equal rewards from being blown up. */
  epsilon: number;
  /** Least deviation that divides. */
  floor: number;
  /** A group whose deviation is below this counts as flat; 0 takes only equal rewards. */
  flatBelow: number;
  /** What a flat group gets: advantages of 0; no part in the update; or its rewards themselves. */
  flat: 'zero' | 'drop' | 'raw';
  /** Standardizes the advantages over the batch, after all else. */
  whiten: boolean;
  /** Bounds the advantages to ± this, last of all. */
  clip?: number | undefined;
  /** Rewards are summed and then compared, or each compared within its group and then summed (GDPO). */
  combine: 'sum_then_normalize' | 'normalize_then_sum';
  compat?: Compat | undefined;
}

export interface KlSettings {
  estimator: KlEstimator;
  level: KlLevel;
  /** Multiplied by the policy ratio, which makes the estimate one under the policy that is trained (DeepSeek-V3.2). */
  biasCorrected: boolean;
  /** Bounds reference − policy to ± this, in nats, so that its exponential cannot overflow. */
  clip?: number | undefined;
}

/** Weighs tokens by how likely the trainer finds what the sampler drew. */
export interface CorrectionSettings {
  level: 'token' | 'sequence';
  /** `truncate` bounds the weight, `mask` makes it 0 outside of the bounds. */
  action: 'truncate' | 'mask';
  min?: number | undefined;
  max?: number | undefined;
}

export interface LossSettings {
  policy: PolicyTerm;
  ratio: RatioLevel;
  aggregation: Aggregation;
  /** Tokens that `constant` divides by. */
  normalizer: number;
  /** The ratio is clipped to 1 − clipLow … 1 + clipHigh; `gmpo` clips log-ratios to −clipLow … clipHigh. */
  clipLow: number;
  clipHigh: number;
  /** Upper bound of the unclipped ratio (INTELLECT-2's δ; above 1 + clipHigh it is the c of a dual clip). */
  delta?: number | undefined;
  /** Absolute bound of the ratio in `cispo`. */
  cap: number;
  /** Slopes of `sapo` for advantages above 0, and for the others. */
  sapo: { positive: number; negative: number };
  /** Shape of `vespo`'s weight for advantages from 0 on, and for those below. */
  vespo: { kPositive: number; lambdaPositive: number; kNegative: number; lambdaNegative: number };
  kl: KlSettings;
  /** Share of the tokens, those of highest entropy, that the policy term is kept for; 1 keeps all. */
  topEntropy: number;
  /** Completions with advantage < 0 whose log-probs fell by more than this a token, in the mean, are left out. */
  offPolicyThreshold?: number | undefined;
  /** Correction for a sampler that is not quite the policy. */
  correction?: CorrectionSettings | undefined;
  /** TRL's numbers where ours depart from them; see `compat-trl.ts`. */
  compat?: Compat | undefined;
}
