/** GRPOConfig's settings as those of our objective. */

import { namedLosses } from '../packages/grpo/dist/config/loss-names.js';

/** @returns LossSettings, as far as a run of TRL in the fixtures has them */
export const lossSettings = (trl) => ({
  policy: namedLosses[trl.loss_type].policy,
  ratio: trl.importance_sampling_level,
  aggregation: namedLosses[trl.loss_type].aggregation,
  normalizer: trl.max_completion_length,
  clipLow: trl.epsilon,
  clipHigh: trl.epsilon_high,
  delta: trl.delta ?? undefined,
  cap: trl.epsilon_high,
  slopePositive: trl.sapo_temperature_pos,
  slopeNegative: trl.sapo_temperature_neg,
  // No run has vespo.
  vespoPositive: [2, 3],
  vespoNegative: [3, 2],
  kl: { estimator: 'k3', level: 'token', biasCorrected: trl.use_bias_correction_kl },
  entropy: { topShare: trl.top_entropy_quantile },
  correction: { level: 'off' },
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
