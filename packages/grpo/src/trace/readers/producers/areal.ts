import type { Producer } from './producer.js';

const ACTOR = '(?:ppo|grpo)_actor';
const of = (name: string) => new RegExp(`^${ACTOR}/(?:update/)?${name}(?:/avg)?$`);

/** AReaL: statistics of each step under the name of the actor. Its KL is that to the sampler, or part of the reward. */
export const areal: Producer = {
  name: 'AReaL',
  wrote: (names) => [...names].some((name) => of('(?:task_reward|final_reward|no_eos_ratios)').test(name)),
  patterns: [
    [of('task_reward'), 'reward'],
    [of('actor_loss'), 'loss'],
    [of('entropy'), 'entropy'],
    [of('clip_ratio'), 'clip_ratio/region_mean'],
    [of('grad_norm'), 'grad_norm'],
    [of('lr'), 'learning_rate'],
    [of('no_eos_ratios'), 'completions/clipped_ratio'],
    [/^eval-rollout\/(?:task_)?reward(?:\/avg)?$/, 'eval_reward'],
  ],
  derive(values) {
    for (const actor of ['ppo_actor', 'grpo_actor']) {
      const { [`${actor}/seq_len/avg`]: whole, [`${actor}/prompt_len/avg`]: prompt } = values;
      if (whole !== undefined && prompt !== undefined) values['completions/mean_length'] = whole - prompt;
      // It logs no deviation; where the extremes are one value it is 0.
      const { [`${actor}/task_reward/min`]: least, [`${actor}/task_reward/max`]: most } = values;
      if (least !== undefined && least === most) values.reward_std = 0;
    }
  },
  averages: false,
  meaning: () => ({ rewardDeviation: 'batch', hidesNotFinite: false }),
};
