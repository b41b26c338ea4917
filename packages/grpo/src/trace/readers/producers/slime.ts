import type { Producer } from './producer.js';

/** slime, and what was made from it (miles): rollout, optimizer step and speed are rows of their own, counted from 0. */
export const slime: Producer = {
  name: 'slime',
  wrote: (names) =>
    [...names].some((name) =>
      /^(train\/(lr-pg_\d+|train_rollout_logprob_abs_diff|pg_clipfrac|ppo_kl)|rollout\/(raw_reward|zero_std\/.+))$/.test(
        name,
      ),
    ),
  names: {
    // `rollout/rewards` is normalised.
    'rollout/raw_reward': 'reward',
    'rollout/response_lengths': 'completions/mean_length',
    'rollout/response_len/mean': 'completions/mean_length',
    'rollout/response_len/min': 'completions/min_length',
    'rollout/response_len/max': 'completions/max_length',
    'rollout/truncated': 'completions/clipped_ratio',
    'rollout/truncated_ratio': 'completions/clipped_ratio',
    'train/loss': 'loss',
    'train/pg_loss': 'policy_loss',
    'train/entropy_loss': 'entropy',
    'train/pg_clipfrac': 'clip_ratio/region_mean',
    'train/kl_loss': 'kl',
    'train/train_rollout_logprob_abs_diff': 'sampling/sampling_logp_difference/mean',
    'train/grad_norm': 'grad_norm',
    'train/lr-pg_0': 'learning_rate',
    'perf/step_time': 'step_time',
  },
  averages: false,
  meaning: () => ({ rewardDeviation: 'batch', countsFrom: 0 }),
};
