import type { MetricSeries } from '../../series.js';
import type { Producer } from './producer.js';

type Entries = MetricSeries['entries'];

/** Of the Trainer's own and of what came with GRPO. Trackers put `train/` and `eval/` before a name. */
const patterns: Producer['patterns'] = [
  // `rewards/max` and its like are of all completions, and no function.
  [/^(?:train\/)?rewards\/(?!(?:mean|std|max|min|median)$)([^/]+)$/, 'rewards/$1/mean'],
  [/^eval_rewards\/(?!(?:mean|std|max|min|median)$)([^/]+)$/, 'eval_rewards/$1/mean'],
  [/^train\/completion_length$/, 'completions/mean_length'],
  [/^train\/(.+)$/, '$1'],
  [/^eval\/(.+)$/, 'eval_$1'],
];
const names = { completion_length: 'completions/mean_length' } as const;

const OF_GRPO =
  /^(train\/)?(frac_reward_zero_std|completion_length|completions\/\w+|rewards\/.+|clip_ratio.*)$/;
/** A script may write the first; the Trainer adds one of the others. */
const [DEVIATION, OF_TRAINER] = [/^(train\/)?reward_std$/, /^(train\/)?(epoch|num_tokens)$/];

const OF_TRL = ['num_tokens', 'frac_reward_zero_std', 'completions/mean_terminated_length'];

/** TRL's GRPOTrainer. */
export const trl: Producer = {
  name: 'TRL',
  wrote: (all) => {
    const has = (pattern: RegExp) => [...all].some((name) => pattern.test(name));
    return has(OF_GRPO) || (has(DEVIATION) && has(OF_TRAINER));
  },
  names,
  patterns,
  averages: true,
  meaning: rewardDeviation,
  declares: (entries) => {
    const has = (name: string) => entries.some(({ values }) => values[name] !== undefined);
    // Others write reward_std too; these only TRL does.
    if (!OF_TRL.some(has)) return {};
    // The KL is in the log exactly where β is not 0.
    return {
      advantage: { epsilon: 1e-4, ddof: 1 },
      kl: has('kl') ? { estimator: 'k3' } : { beta: 0 },
    };
  },
};

/** TRL's PPOTrainer and its first RLOOTrainer, whose `objective/kl` is a sum over the completion. */
export const trlPpo: Producer = {
  name: 'TRL PPO',
  wrote: (all) => all.has('objective/scores') && all.has('policy/approxkl_avg'),
  names: {
    'objective/scores': 'reward',
    'policy/approxkl_avg': 'kl/old',
    'policy/clipfrac_avg': 'clip_ratio/region_mean',
    'policy/entropy_avg': 'entropy',
    'loss/policy_avg': 'policy_loss',
    lr: 'learning_rate',
    // These are of the value function, and no evaluation.
    'val/ratio': 'val/ratio',
    'val/ratio_var': 'val/ratio_var',
    'val/clipfrac_avg': 'val/clipfrac_avg',
    'objective/kl': 'objective/kl',
  },
  derive(values) {
    // Completions without an end token in any of them were cut off, all of them.
    if (values['val/num_eos_tokens'] === 0) values['completions/clipped_ratio'] = 1;
  },
  averages: false,
};

/** ms-swift's GRPO is TRL's with a step of its own; what its versions call reward_std is not known here. */
export const swift: Producer = {
  ...trl,
  name: 'ms-swift',
  wrote: (all) => all.has('global_step/max_steps'),
};

/** Any other trainer on transformers, SFT for instance. */
export const transformers: Producer = {
  name: 'transformers',
  wrote: (all) =>
    ['loss', 'eval_loss', 'train/loss'].some((name) => all.has(name)) &&
    ['epoch', 'train/epoch'].some((name) => all.has(name)),
  names,
  patterns,
  averages: true,
  meaning: trl.meaning!,
};

/** Entries that must tell the same before it is taken for a rule. */
const PROOFS = 3;
const same = (a: number, b: number) => Math.abs(a - b) <= 1e-3 * Math.max(1e-3, Math.abs(a));

/**
 * Older versions log the mean of the groups' deviations, from 0.27 on the deviation over the whole batch. The numbers
 * tell which: equal rewards in every group make the former 0, and the deviation of a single reward of weight 1 over
 * the batch is logged beside it.
 */
export function rewardDeviation(entries: Entries): Partial<MetricSeries> {
  let [batch, groups] = [0, 0];
  for (const { values } of entries) {
    const { reward, reward_std: deviation, frac_reward_zero_std: flat } = values;
    if (reward === undefined || deviation === undefined) continue;
    if (flat === 1 && deviation > 1e-3) return { rewardDeviation: 'batch' };
    const rewards = Object.keys(values).filter((name) => /^rewards\/.+\/mean$/.test(name));
    const [only] = rewards;
    if (only === undefined || rewards.length > 1 || !same(values[only]!, reward)) continue;
    const own = values[only.replace(/mean$/, 'std')];
    if (own === undefined || own === 0) continue;
    if (same(own, deviation)) batch++;
    else groups++;
  }
  if (groups >= PROOFS && batch === 0) return { rewardDeviation: 'groups' };
  return batch >= PROOFS && groups === 0 ? { rewardDeviation: 'batch' } : {};
}

/** What a version of TRL means, where the version is known. */
export function meaningOfVersion(version: string): Partial<MetricSeries> {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const before027 = major === 0 && minor < 27;
  return {
    rewardDeviation: before027 ? 'groups' : 'batch',
    rewardIsWeighted: before027 || major >= 1,
  };
}
