import { testLogCheck, times } from '../planted.test.helper.js';

/** From `before` to `after` at an entry, with a swing of one in two entries. */
const step = (count: number, at: number, before: number, after: number, swing = 0.04) =>
  times(count, (i) => (i < at ? before : after) + swing * (i % 2));

testLogCheck('B61.reward', [
  {
    name: 'a fall beside a policy that stays as it is: the reward may be another',
    metrics: {
      reward: times(24, (i) => (i < 12 ? 0.6 : -5) + 0.02 * (i % 3)),
      entropy: times(24, (i) => 0.4 + 0.01 * (i % 2)),
      'completions/mean_length': times(24, (i) => 12 + (i % 2)),
    },
    verdict: 'warn',
    measured: { isStill: true },
  },
  {
    name: 'the same beside an entropy that rises',
    metrics: {
      reward: times(24, (i) => (i < 12 ? 0.6 : -5) + 0.02 * (i % 3)),
      entropy: times(24, (i) => (i < 12 ? 0.4 : 2) + 0.01 * (i % 2)),
      'completions/mean_length': times(24, (i) => 12 + (i % 2)),
    },
    verdict: 'warn',
    measured: { isStill: false },
  },
  {
    name: 'a first entry whose flat groups were all wrong already',
    metrics: {
      reward: times(21, (i) => (i === 0 ? 0.024 : 0)),
      frac_reward_zero_std: times(21, (i) => (i === 0 ? 0.975 : 1)),
    },
    verdict: 'inform',
    measured: { isLost: false },
  },
  {
    name: 'a first entry whose flat groups were mostly right',
    metrics: {
      reward: times(21, (i) => (i === 0 ? 0.9 : 0)),
      frac_reward_zero_std: times(21, (i) => (i === 0 ? 0.9 : 1)),
    },
    verdict: 'warn',
    measured: { from: 0.9, to: 0 },
  },
  {
    name: 'three entries of six, beside truncation that follows in the next',
    metrics: {
      reward: [0.175, 0.3125, 0.1875, 0.0813, 0.0187, 0.025],
      'completions/clipped_ratio': [0.019, 0, 0.019, 0.094, 0.463, 0.869],
    },
    verdict: 'warn',
    measured: { from: 0.3125, step: 4 },
  },
  {
    name: 'the same alone',
    metrics: { reward: [0.175, 0.3125, 0.1875, 0.0813, 0.0187, 0.025] },
    verdict: 'not applicable',
  },
  {
    name: 'an end below the start, of which less than half is lost',
    metrics: { reward: times(60, (i) => (i < 40 ? 0.5 : 0.35) + 0.02 * (i % 3)), reward_std: times(60, 0.4) },
    verdict: 'inform',
    measured: { isLost: false },
  },
  {
    name: 'an end below the start, in the evaluation, too',
    metrics: {
      reward: times(60, (i) => (i < 40 ? 0.5 : 0.35) + 0.02 * (i % 3)),
      reward_std: times(60, 0.4),
      eval_reward: times(60, (i) => (i % 10 === 0 ? 0.7 - i / 200 + 0.01 * (i % 3) : undefined)),
    },
    verdict: 'warn',
    measured: { isLost: false, isWorse: true },
  },
  {
    name: 'an end below the start, while the evaluation stays',
    metrics: {
      reward: times(60, (i) => (i < 40 ? 0.5 : 0.35) + 0.02 * (i % 3)),
      reward_std: times(60, 0.4),
      eval_reward: times(60, (i) => (i % 10 === 0 ? 0.7 + 0.01 * ((i / 10) % 3) : undefined)),
    },
    verdict: 'inform',
  },
  {
    name: 'a fall where each entry is one group, all right or all wrong',
    metrics: { reward: times(120, (i) => (i < 90 ? (i % 4 === 0 ? 0 : 1) : i % 10 === 0 ? 1 : 0)) },
    verdict: 'warn',
  },
  {
    name: 'groups that are all right or all wrong, as ever',
    metrics: { reward: times(120, (i) => (i % 4 === 0 ? 0 : 1)) },
    verdict: 'pass',
  },
  {
    name: 'a few groups without a point near the end of a short run',
    metrics: {
      reward: [
        0.79, 0.79, 0.76, 0.54, 0.76, 0.79, 0.74, 0.57, -0.49, 0.72, 0.78, 0.68, 0.56, 0.66, 0.72, -0.21,
        0.36, 0.7, -0.41, 0.62,
      ],
    },
    verdict: 'pass',
  },
  {
    name: 'a fall to nothing, with the length before it',
    metrics: {
      reward: step(40, 24, 0.8, 0),
      'completions/mean_length': step(40, 16, 100, 500),
    },
    verdict: 'warn',
    measured: { step: 25, moved: 'Moved before it: mean length (step 17).' },
    evidence: { step: 25, text: 'reward' },
  },
  {
    name: 'a fall little by little, at steps far apart',
    metrics: { reward: times(40, (i) => 0.9 - 0.02 * i + 0.02 * Math.sin(i * i)) },
    every: 10,
    verdict: 'warn',
    measured: { isDrift: true },
  },
  {
    name: 'a dip that healed',
    metrics: { reward: times(40, (i) => (i > 15 && i < 22 ? 0 : 0.8)) },
    verdict: 'pass',
  },
  { name: 'a loss of a tenth', metrics: { reward: step(40, 24, 0.85, 0.77) }, verdict: 'pass' },
  {
    name: 'less than completions of a prompt differ by',
    metrics: { reward: step(40, 24, 0.2, 0.05, 0.01), reward_std: times(40, 0.4) },
    verdict: 'inform',
  },
  { name: 'noise', metrics: { reward: times(40, (i) => Math.sin(1.7 * i * i)) }, verdict: 'pass' },
  {
    name: 'a fall in a few entries, far below all before it',
    metrics: { reward: step(12, 6, 0.8, 0) },
    verdict: 'warn',
    measured: { step: 7, isLost: true },
  },
  {
    name: 'a fall in four entries, after the entropy broke',
    metrics: { reward: [0.76, 0.77, 0.75, 0.04], entropy: [4, 0.03, 0.03, 0.04] },
    verdict: 'warn',
    measured: { step: 4, moved: 'Moved before it: entropy (step 2).' },
  },
  {
    name: 'a third less in eleven entries, after the gradient grew hundredfold',
    metrics: {
      reward: [0.79, 0.83, 0.72, 0.75, 0.69, 0.68, 0.52, 0.54, 0.57, 0.6, 0.53],
      grad_norm: [4.6, 16, 52, 125, 207, 173, 473, 378, 480, 400, 272],
    },
    verdict: 'warn',
    measured: { step: 6, moved: 'Moved before it: gradient norm (step 4).' },
  },
  {
    name: 'a penalty that shrinks as the gradient grows',
    metrics: {
      reward: [-0.5, -0.51, -0.5, -0.49, -0.5, -0.5, -0.45, -0.44, -0.45, -0.44, -0.45],
      grad_norm: [4.6, 16, 52, 125, 207, 173, 473, 378, 480, 400, 272],
    },
    verdict: 'not applicable',
  },
  {
    name: 'a third less, without it',
    metrics: { reward: [0.79, 0.83, 0.72, 0.75, 0.69, 0.68, 0.52, 0.54, 0.57, 0.6, 0.53] },
    verdict: 'not applicable',
  },
  {
    name: 'the same after which the entropy broke',
    metrics: { reward: [0.6, 0.2, 0.15, 0.1], entropy: [0.5, 0.5, 0.5, 4] },
    verdict: 'not applicable',
  },
  {
    name: 'a low one of small groups at the end',
    metrics: { reward: [0.5, 0.25, 0.625, 0.375, 0.125], entropy: [0.4, 0.4, 0.3, 0.3, 0.2] },
    verdict: 'not applicable',
  },
  {
    name: 'one group an entry, the last of them all wrong',
    metrics: { reward: [1, 1, 1, 1, 1, 0] },
    verdict: 'not applicable',
  },
  {
    name: 'where the gradient is gone, too, as all earn nothing',
    metrics: { reward: [0.625, 0.75, 0.25], grad_norm: [2.25, 3.07, 0.08] },
    verdict: 'not applicable',
  },
]);

testLogCheck('B61.entropy', [
  { name: 'noise in three entries', metrics: { entropy: [0.4, 0.4, 9.5] }, verdict: 'warn' },
  {
    name: 'twice as much in three entries',
    metrics: { entropy: [0.4, 0.5, 0.9] },
    verdict: 'not applicable',
  },
  {
    name: 'four times as much, and two nats',
    metrics: { entropy: step(40, 24, 0.4, 2) },
    verdict: 'warn',
  },
  {
    name: 'four times as much while the reward rises',
    metrics: { entropy: step(40, 24, 0.4, 2), reward: step(40, 20, 0.2, 0.8) },
    verdict: 'pass',
  },
  { name: 'noise', metrics: { entropy: step(40, 24, 0.2, 5) }, verdict: 'warn', measured: { step: 25 } },
  { name: 'more, but text', metrics: { entropy: step(40, 24, 0.2, 0.8) }, verdict: 'pass' },
  { name: 'high from the start', metrics: { entropy: step(40, 24, 3.5, 3.6) }, verdict: 'pass' },
]);

testLogCheck('B61.length', [
  {
    name: 'two tokens from the second entry on',
    metrics: { 'completions/mean_length': [53, 2.5, 2.2, 2.3], reward: [1.75, 1.2, 0.8, 1.5] },
    verdict: 'warn',
    measured: { step: 2 },
  },
  {
    name: 'five times as long in the end, between lengths of all sizes',
    metrics: { 'completions/mean_length': [100, 220, 400, 330, 420] },
    verdict: 'pass',
  },
  {
    name: 'five times as long for nothing',
    metrics: { 'completions/mean_length': step(40, 20, 150, 1800), reward: step(40, 20, 0.5, 0.48) },
    verdict: 'warn',
  },
  {
    name: 'a few tokens for a little',
    metrics: {
      'completions/mean_length': step(40, 20, 62, 9, 0.5),
      reward: step(40, 20, 0.61, 0.64, 0.01),
      reward_std: times(40, 0.1),
    },
    verdict: 'warn',
    measured: { step: 21 },
  },
  {
    name: 'one answer in most entries',
    metrics: {
      'completions/mean_length': times(40, (i) => (i < 5 || i % 3 === 0 ? 50 + 7 * (i % 5) : 9)),
      reward: times(40, (i) => 0.6 + 0.001 * i),
      reward_std: times(40, 0.1),
    },
    verdict: 'warn',
    measured: { to: 9, step: 6 },
  },
  {
    name: 'reasoning that pays',
    metrics: { 'completions/mean_length': step(40, 20, 150, 1800), reward: step(40, 20, 0.2, 0.7) },
    verdict: 'pass',
  },
  {
    name: 'twice as long',
    metrics: { 'completions/mean_length': step(40, 20, 150, 300), reward: step(40, 20, 0.5, 0.48) },
    verdict: 'pass',
  },
]);

testLogCheck('B61.drift', [
  {
    name: 'answers three times as long for nothing',
    metrics: { reward: step(40, 20, 0.5, 0.5), 'completions/mean_length': step(40, 20, 180, 560, 9) },
    verdict: 'inform',
    measured: { what: 'length', step: 21 },
  },
  {
    name: 'an entropy that falls fourfold for nothing',
    metrics: { reward: step(40, 20, 0.5, 0.5), entropy: step(40, 20, 0.8, 0.2, 0.01) },
    verdict: 'inform',
    measured: { what: 'entropy' },
  },
  {
    name: 'one in four entries, too few to tell a gain',
    metrics: { reward: [0.45, 0.8, 0.73, 0.81], entropy: [0.237, 0.031, 0.036, 0.027] },
    verdict: 'inform',
    measured: { what: 'entropy', reward: false },
  },
  {
    name: 'the same beside a reward that rises for good',
    metrics: { reward: step(40, 20, 0.2, 0.8), entropy: step(40, 20, 0.8, 0.2, 0.01) },
    verdict: 'pass',
  },
  {
    name: 'a length that moves by a third',
    metrics: { reward: step(40, 20, 0.5, 0.5), 'completions/mean_length': step(40, 20, 180, 240, 9) },
    verdict: 'pass',
  },
]);
