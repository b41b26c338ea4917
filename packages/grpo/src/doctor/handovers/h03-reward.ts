import { handOverCheck } from '../hand-over.js';

export const h03 = handOverCheck({
  code: 'H03',
  handOver: 'reward',
  title: 'A completion graded again earns the same',
  wrong: 'A reward is not that of its completion',
  stage: 'reward',
  level: 4,
  remedy:
    'Look at how rewards are paired with completions, whether a reward depends on anything but its completion and row, and what is taken off for length.',
  proofs: ['native', 'TRL run'],
});
