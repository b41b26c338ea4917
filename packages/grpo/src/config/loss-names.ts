import type { Aggregation, Baseline, PolicyTerm, RatioLevel, Scale } from './choices.js';

/** Parts of a named loss; each can be set on its own. */
export interface LossParts {
  policy: PolicyTerm;
  ratio: RatioLevel;
  aggregation: Aggregation;
  /** Settings of `advantage` that are part of the loss's definition. */
  baseline?: Baseline;
  scale?: Scale;
}

export const namedLosses = {
  /** DeepSeekMath, eq. 3. */
  grpo: { policy: 'clip', ratio: 'token', aggregation: 'sequence_mean' },
  /** DAPO, eq. 8. */
  dapo: { policy: 'clip', ratio: 'token', aggregation: 'token_mean' },
  /** TRL: token mean of each micro-batch. */
  bnpo: { policy: 'clip', ratio: 'token', aggregation: 'micro_token_mean' },
  /** Dr. GRPO, eq. 2, with a constant divisor. */
  dr_grpo: { policy: 'clip', ratio: 'token', aggregation: 'constant' },
  /** MiniMax-M1, eq. 4. */
  cispo: { policy: 'cispo', ratio: 'token', aggregation: 'token_mean' },
  /** Soft adaptive policy optimization. */
  sapo: { policy: 'sapo', ratio: 'token', aggregation: 'sequence_mean' },
  vespo: { policy: 'vespo', ratio: 'token', aggregation: 'token_mean' },
  /** Length-unbiased: sequences weigh by their length. */
  luspo: { policy: 'clip', ratio: 'sequence', aggregation: 'sum' },
  /** GSPO, eq. 5. */
  gspo: { policy: 'clip', ratio: 'sequence', aggregation: 'sequence_mean' },
  /** GSPO, eq. 13. */
  gspo_token: { policy: 'clip', ratio: 'sequence_token', aggregation: 'sequence_mean' },
  /** Geometric-mean policy optimization, eq. 4. */
  gmpo: { policy: 'gmpo', ratio: 'token', aggregation: 'sequence_mean' },
  /** DPPO (arXiv 2602.04879), eqs. 11 to 13: a trust region of probabilities. */
  dppo_tv: { policy: 'dppo_tv', ratio: 'token', aggregation: 'token_mean' },
  /** The same, eq. 14: a trust region of a KL. */
  dppo_kl: { policy: 'dppo_kl', ratio: 'token', aggregation: 'token_mean' },
  /** CS336: the raw reward times the log-prob. */
  no_baseline: {
    policy: 'reinforce',
    ratio: 'none',
    aggregation: 'sequence_mean',
    baseline: 'none',
    scale: 'none',
  },
  /** CS336: the advantage times the log-prob. */
  reinforce_with_baseline: { policy: 'reinforce', ratio: 'none', aggregation: 'sequence_mean' },
  /** CS336: the same as grpo. */
  grpo_clip: { policy: 'clip', ratio: 'token', aggregation: 'sequence_mean' },
  /** A completion's summed log-prob, without a division by its length. */
  reinforce_sum: { policy: 'reinforce', ratio: 'none', aggregation: 'sum' },
} as const satisfies Record<string, LossParts>;

export type LossName = keyof typeof namedLosses;

export const LOSS_NAMES = Object.keys(namedLosses) as [LossName, ...LossName[]];
