import type { Producer } from './producer.js';

/** grpo's own: its names are TRL's. */
export const ours: Producer = {
  name: 'grpo',
  wrote: (names) => names.has('step_tokens'),
  patterns: [
    [/^eval_greedy\/(reward|accuracy)$/, 'eval_$1'],
    [/^eval_greedy\/rewards\/(.+)\/mean$/, 'eval_rewards/$1/mean'],
  ],
  averages: false,
  meaning: () => ({ rewardDeviation: 'batch', rewardIsWeighted: true }),
};
