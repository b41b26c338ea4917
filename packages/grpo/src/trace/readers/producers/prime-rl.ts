import type { Producer } from './producer.js';

/** prime-rl: trainer and orchestrator write several rows a step, each with a part of the metrics. */
export const primeRl: Producer = {
  name: 'prime-rl',
  wrote: (names) =>
    [...names].some((name) =>
      /^(optim\/(lr|grad_norm)|mismatch_kl\/.+|Mismatch KL|(reward|loss|entropy)\/all\/mean)$/.test(name),
    ),
  names: {
    // Of its console.
    'Mismatch KL': 'sampling/kl',
    'mismatch_kl/mean': 'sampling/kl',
    'mismatch_kl/all/mean': 'sampling/kl',
    'Seq. Length': 'completions/mean_length',
    Time: 'time/step',
    'loss/mean': 'loss',
    'loss/all/mean': 'loss',
    'entropy/mean': 'entropy',
    'entropy/all/mean': 'entropy',
    'optim/lr': 'learning_rate',
    'optim/grad_norm': 'grad_norm',
    'reward/mean': 'reward',
    'reward/all/mean': 'reward',
    'reward/std': 'reward_std',
    'reward/all/std': 'reward_std',
    'val_reward/mean': 'eval_reward',
    'val_reward/all/mean': 'eval_reward',
    'decode_len/all/mean': 'completions/mean_length',
    'decode_len/all/min': 'completions/min_length',
    'decode_len/all/max': 'completions/max_length',
    'completion_len/mean': 'completions/mean_length',
    'is_truncated/mean': 'completions/clipped_ratio',
    'is_truncated/all/mean': 'completions/clipped_ratio',
    'time/step': 'step_time',
    'progress/total_tokens': 'num_tokens',
  },
  patterns: [[/^metrics\/(?:all\/)?(.+)\/mean$/, 'rewards/$1/mean']],
  derive(values) {
    // Groups that nobody solves and groups that all solve are those of equal rewards.
    for (const of of ['', '/all']) {
      const [none, all] = [values[`solve_none${of}`], values[`solve_all${of}`]];
      if (none !== undefined && all !== undefined) values.frac_reward_zero_std ??= none + all;
    }
  },
  averages: false,
  meaning: () => ({ rewardDeviation: 'batch' }),
};
