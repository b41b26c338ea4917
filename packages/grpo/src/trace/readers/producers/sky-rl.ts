import type { Producer } from './producer.js';

/** SkyRL, by its trackers. */
export const skyRl: Producer = {
  name: 'SkyRL',
  wrote: (names) =>
    ['reward/avg_raw_reward', 'policy/policy_entropy', 'policy/raw_grad_norm'].some((name) =>
      names.has(name),
    ),
  names: {
    'reward/avg_raw_reward': 'reward',
    'policy/final_loss': 'loss',
    'policy/policy_loss': 'policy_loss',
    'policy/policy_entropy': 'entropy',
    'policy/policy_kl': 'kl',
    'policy/ppo_clip_ratio': 'clip_ratio/region_mean',
    'policy/loss_metrics/clip_ratio': 'clip_ratio/region_mean',
    'policy/raw_grad_norm': 'grad_norm',
    'policy/grad_norm': 'grad_norm',
    'policy/policy_lr': 'learning_rate',
    'policy/rollout_train_logprobs_abs_diff_mean': 'sampling/sampling_logp_difference/mean',
    'generate/avg_num_tokens': 'completions/mean_length',
    'generate/min_num_tokens': 'completions/min_length',
    'generate/max_num_tokens': 'completions/max_length',
    'eval/all/avg_score': 'eval_reward',
    'timing/step': 'step_time',
  },
  averages: false,
  meaning: () => ({ rewardDeviation: 'batch' }),
};
