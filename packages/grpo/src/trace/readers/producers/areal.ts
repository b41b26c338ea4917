import { deviationOf, type Producer, zeroAdvantages } from './producer.js';

const ACTOR = '(?:ppo|grpo)_actor';
const of = (name: string) => new RegExp(`^${ACTOR}/(?:update/)?${name}(?:/avg)?$`);

/** AReaL: it logs the statistics of each step under the actor's name, and no KL to the reference. */
export const areal: Producer = {
  name: 'AReaL',
  wrote: (names) =>
    [...names].some((name) => of('(?:task_reward|final_reward|no_eos_ratios|advantages)').test(name)),
  patterns: [
    [of('task_reward'), 'reward'],
    [of('advantages'), 'advantages/mean'],
    [new RegExp(`^${ACTOR}/(?:update/)?advantages/max$`), 'advantages/max'],
    [new RegExp(`^${ACTOR}/(?:update/)?advantages/min$`), 'advantages/min'],
    [of('actor_loss'), 'loss'],
    [of('entropy'), 'entropy'],
    [of('clip_ratio'), 'clip_ratio/region_mean'],
    [of('grad_norm'), 'grad_norm'],
    [of('lr'), 'learning_rate'],
    [of('no_eos_ratios'), 'completions/clipped_ratio'],
    [/^eval-rollout\/(?:task_)?reward(?:\/avg)?$/, 'eval_reward'],
  ],
  derive(values) {
    zeroAdvantages(values);
    for (const actor of ['ppo_actor', 'grpo_actor']) {
      const { [`${actor}/seq_len/avg`]: whole, [`${actor}/prompt_len/avg`]: prompt } = values;
      if (whole !== undefined && prompt !== undefined) values['completions/mean_length'] = whole - prompt;
      deviationOf(values, `${actor}/task_reward/min`, `${actor}/task_reward/max`);
    }
  },
  averages: false,
  meaning: () => ({ rewardDeviation: 'batch' }),
};
