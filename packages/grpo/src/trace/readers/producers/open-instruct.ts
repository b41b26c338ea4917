import type { Producer } from './producer.js';

/** open-instruct: the policy is trained on `scores`; rewards of an unused verifier stay at 0. */
export const openInstruct: Producer = {
  name: 'open-instruct',
  wrote: (names) =>
    [...names].some((name) => /^objective\/(?:.+_correct_rate|verifiable_reward|kl\d?_avg)$/.test(name)),
  names: {
    scores: 'reward',
    'objective/scores': 'reward',
    'objective/verifiable_reward': 'rewards/verifiable/mean',
    'objective/kl_avg': 'kl',
    'loss/total_avg': 'loss',
    'loss/policy_avg': 'policy_loss',
    'policy/entropy_avg': 'entropy',
    'policy/clipfrac_avg': 'clip_ratio/region_mean',
    'optim/grad_norm': 'grad_norm',
    lr: 'learning_rate',
    'debug/vllm_vs_local_logprob_diff_mean': 'sampling/sampling_logp_difference/mean',
    'val/sequence_lengths': 'completions/mean_length',
    'val/sequence_lengths_min': 'completions/min_length',
    'val/sequence_lengths_max': 'completions/max_length',
    'val/avg_group_std': 'reward_std',
    'eval/scores': 'eval_reward',
  },
  derive(values) {
    const { 'val/stop_rate': stopped } = values;
    if (stopped !== undefined) values['completions/clipped_ratio'] = 1 - stopped;
  },
  averages: false,
  meaning: () => ({ rewardDeviation: 'batch' }),
};
