import { deviationOf, type Producer, zeroAdvantages } from './producer.js';

/** Metrics of which verl logs at least one in every run. */
const OWN =
  /^(critic\/(score|rewards|advantages)\/|actor\/(pg_|ppo_kl|kl_loss|entropy_loss|reward_kl_penalty))/;

/** verl, and what was made from it (EasyR1, Search-R1): an entry a step. */
export const verl: Producer = {
  name: 'verl',
  // Scripts have an actor and a learning rate of it, too.
  wrote: (names) => [...names].some((name) => OWN.test(name)),
  names: {
    'critic/rewards/mean': 'reward',
    'critic/score/mean': 'rewards/score/mean',
    'critic/advantages/mean': 'advantages/mean',
    'critic/advantages/min': 'advantages/min',
    'critic/advantages/max': 'advantages/max',
    'actor/loss': 'loss',
    'actor/pg_loss': 'policy_loss',
    'actor/entropy': 'entropy',
    'actor/entropy_loss': 'entropy',
    'actor/kl_loss': 'kl',
    'actor/reward_kl_penalty': 'kl',
    'actor/grad_norm': 'grad_norm',
    'actor/lr': 'learning_rate',
    'actor/lr(1e-4)': ['learning_rate', 1e-4],
    'actor/pg_clipfrac': 'clip_ratio/region_mean',
    'response_length/mean': 'completions/mean_length',
    'response_length/min': 'completions/min_length',
    'response_length/max': 'completions/max_length',
    'response_length/clip_ratio': 'completions/clipped_ratio',
    'training/rollout_probs_diff_mean': 'sampling/probability_difference/mean',
    'rollout_corr/kl': 'sampling/kl',
    'mismatch/mismatch_kl': 'sampling/kl',
    'timing_s/step': 'step_time',
    'perf/total_num_tokens': 'step_tokens',
  },
  patterns: [
    [/^val-core\/.+\/(?:reward|acc)\/mean@\d+$/, 'eval_reward'],
    [/^val\/test_score\/.+$/, 'eval_reward'],
  ],
  derive(values) {
    if (values['rewards/score/mean'] !== undefined) values.reward ??= values['rewards/score/mean'];
    deviationOf(values, 'critic/rewards/min', 'critic/rewards/max');
    zeroAdvantages(values);
    const { 'advantages/min': lowest, 'advantages/max': highest } = values;
    const [least, most] = [values['critic/rewards/min'], values['critic/rewards/max']];
    const same = (a = 0, b = 0) => Math.abs(a - b) <= 1e-4 * Math.abs(b);
    if (lowest !== undefined && most !== undefined && most !== least)
      values['advantages/raw'] = Number(same(lowest, least) && same(highest, most));
  },
  averages: false,
  meaning: () => ({ rewardDeviation: 'batch' }),
};
