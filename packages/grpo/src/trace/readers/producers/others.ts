import { meanOf, type Producer } from './producer.js';
import { rewardDeviation } from './trl.js';

/** The assignment of CS336: keys of its own under `train/` and `eval/`. */
export const cs336: Producer = {
  name: 'CS336',
  wrote: (names) =>
    names.has('train_step') ||
    names.has('eval_step') ||
    [...names].some((name) => /^(eval|train)\/(answer_reward|format_reward|token_entropy)$/.test(name)),
  names: {
    'train/loss': 'loss',
    'train/grad_norm': 'grad_norm',
    'train/entropy': 'entropy',
    'train/token_entropy': 'entropy',
    'train/avg_token_entropy': 'entropy',
    'train/reward': 'reward',
    'train/rewards': 'reward',
    'train/reward_mean': 'reward',
    'train/mean_reward': 'reward',
    'train/reward_std': 'reward_std',
    'train/format_reward': 'rewards/format/mean',
    'train/answer_reward': 'rewards/answer/mean',
    'train/clip_fraction': 'clip_ratio/region_mean',
    'train/clipfrac': 'clip_ratio/region_mean',
    'train/lr': 'learning_rate',
    'train/learning_rate': 'learning_rate',
    'train/response_length': 'completions/mean_length',
    'eval/reward': 'eval_reward',
    'eval/accuracy': 'eval_reward',
    'eval/answer_reward': 'eval_rewards/answer/mean',
    'eval/format_reward': 'eval_rewards/format/mean',
  },
  derive(values) {
    // Only the answer pays in its reward function.
    meanOf(values, 'eval_reward', ['eval_rewards/answer/mean']);
  },
  averages: false,
  meaning: () => ({ rewardDeviation: 'batch' }),
};

const both = (name: string) => [`${name}_f`, `${name}_h`];

/** grpo-dual: two tasks, fairness (f) and hallucination (h), in one loss that is their mean. */
export const grpoDual: Producer = {
  name: 'grpo-dual',
  wrote: (names) => names.has('reward_f_mean') || names.has('kl_overall'),
  names: {
    kl_overall: 'kl',
    reward_f_mean: 'rewards/fairness/mean',
    reward_h_mean: 'rewards/hallucination/mean',
    reward_f_std: 'rewards/fairness/std',
    reward_h_std: 'rewards/hallucination/std',
    clip_frac: 'clip_ratio/region_mean',
    grad_cosine_sim: 'grad_cosine',
    lr: 'learning_rate',
  },
  derive(values) {
    const means = ['rewards/fairness/mean', 'rewards/hallucination/mean'];
    meanOf(values, 'reward', means);
    meanOf(
      values,
      'reward_std',
      means.map((name) => name.replace('mean', 'std')),
    );
    meanOf(values, 'completions/mean_length', ['gen_len_f_mean', 'gen_len_h_mean']);
    meanOf(values, 'completions/clipped_ratio', both('trunc_frac'));
  },
  averages: false,
  meaning: () => ({ rewardDeviation: 'batch' }),
  declares: () => ({ kl: { estimator: 'k3' }, objective: { ratio: 'sequence' } }),
};

/** tinker-cookbook. */
export const tinker: Producer = {
  name: 'tinker-cookbook',
  wrote: (names) => [...names].some((name) => /^(env\/all\/|optim\/kl_sample_train)/.test(name)),
  names: {
    'env/all/reward/total': 'reward',
    'optim/entropy': 'entropy',
    'optim/lr': 'learning_rate',
    'optim/kl_sample_train_v2': 'sampling/kl',
    'env/all/ac_tokens_per_turn': 'completions/mean_length',
    'time/total': 'step_time',
  },
  derive(values) {
    const [good, bad] = [values['env/all/by_group/frac_all_good'], values['env/all/by_group/frac_all_bad']];
    if (good !== undefined && bad !== undefined) values.frac_reward_zero_std ??= good + bad;
  },
  averages: false,
};

/** torchforge. */
export const forge: Producer = {
  name: 'torchforge',
  wrote: (names) => [...names].some((name) => /^(grpo_loss|reward\/evaluate_response)\//.test(name)),
  names: {
    'grpo_loss/total_loss': 'loss',
    'grpo_loss/policy_gradient_loss': 'policy_loss',
    'grpo_loss/kl_divergence_mean': 'kl',
    'reward/evaluate_response/avg_total_reward': 'reward',
    'reward/evaluate_response/avg_reward': 'reward',
    'reward/evaluate_response/std_reward': 'reward_std',
    'episode/avg_response_tokens': 'completions/mean_length',
    'episode/min_response_tokens': 'completions/min_length',
    'episode/max_response_tokens': 'completions/max_length',
    'rl_trainer/learning_rate': 'learning_rate',
  },
  patterns: [
    [/^reward\/evaluate_response\/avg_(?!total_)(.+)_reward$/, 'rewards/$1/mean'],
    [/^reward\/evaluate_response\/std_(?!total_)(.+)_reward$/, 'rewards/$1/std'],
  ],
  averages: false,
  meaning: () => ({ rewardDeviation: 'batch' }),
  declares: () => ({ kl: { estimator: 'k3' } }),
};

/** A log that none of the others wrote. */
export const unknown: Producer = {
  name: 'unknown',
  wrote: () => true,
  patterns: [
    [/^train\/(.+)$/, '$1'],
    [/^eval\/(.+)$/, 'eval_$1'],
  ],
  averages: false,
  meaning: rewardDeviation,
};
