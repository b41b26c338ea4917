/** GRPOConfig's settings as those of our objective. */

const AGGREGATION = {
  grpo: 'sequence_mean',
  sapo: 'sequence_mean',
  bnpo: 'micro_token_mean',
  dr_grpo: 'constant',
  dapo: 'token_mean',
  cispo: 'token_mean',
  vespo: 'token_mean',
  luspo: 'sum',
};

/** @returns LossSettings */
export const lossSettings = (trl) => ({
  policy: ['cispo', 'sapo', 'vespo'].includes(trl.loss_type) ? trl.loss_type : 'clip',
  ratio: trl.importance_sampling_level,
  aggregation: AGGREGATION[trl.loss_type],
  normalizer: trl.max_completion_length,
  clipLow: trl.epsilon,
  clipHigh: trl.epsilon_high,
  delta: trl.delta ?? undefined,
  cap: trl.epsilon_high,
  sapo: { positive: trl.sapo_temperature_pos, negative: trl.sapo_temperature_neg },
  // No run has vespo.
  vespo: { kPositive: 2, lambdaPositive: 3, kNegative: 3, lambdaNegative: 2 },
  kl: { estimator: 'k3', level: 'token', biasCorrected: trl.use_bias_correction_kl },
  topEntropy: trl.top_entropy_quantile,
  compat: 'trl',
});

/** @returns AdvantageSettings: ours, not the compatible ones, which round to float32 */
export const advantageSettings = (trl) => ({
  baseline: 'group',
  scale: trl.scale_rewards,
  ddof: 1,
  epsilon: 1e-4,
  floor: 0,
  flatBelow: 0,
  flat: 'zero',
  whiten: false,
  combine: 'sum_then_normalize',
});
