import { expect } from 'vitest';
import { testLogCheck, times } from '../planted.test.helper.js';

const noise = times(120, (i) => -1.9 + 0.1 * Math.sin(1.7 * i * i));

testLogCheck('B62.still', [
  {
    name: 'a KL of 0 in a policy whose entropy moved',
    metrics: {
      reward: noise,
      kl: times(120, 0),
      entropy: times(120, (i) => (i < 60 ? 0.3 : 1.5) + 0.01 * (i % 2)),
    },
    verdict: 'inform',
  },
  {
    name: 'neither reward nor KL, told by the level of the reward',
    metrics: { reward: noise, kl: times(120, 0.0004) },
    verdict: 'warn',
    evidence: { text: 'reward', values: { level: expect.closeTo(-1.9, 1) } },
  },
  {
    name: 'neither reward nor KL, at a rate that the log has',
    metrics: {
      reward: noise,
      kl: times(120, 0.0004),
      learning_rate: times(120, (i) => 1e-8 * (1 - i / 200)),
    },
    verdict: 'warn',
    measured: { rate: 1e-8 },
  },
  {
    name: 'a policy that moves, by a KL whose sign is turned',
    metrics: { reward: noise, kl: times(120, (i) => -i / 2000) },
    verdict: 'pass',
  },
  { name: 'no KL to see', metrics: { reward: noise }, verdict: 'inform' },
  {
    name: 'a policy that moves',
    metrics: { reward: noise, kl: times(120, (i) => i / 2000) },
    verdict: 'pass',
  },
  {
    name: 'a reward that rises',
    metrics: { reward: noise.map((value, i) => value + i / 100), kl: times(120, 0.0004) },
    verdict: 'pass',
  },
  {
    name: 'a reward that is high from the start',
    metrics: { reward: times(120, (i) => 0.9 + 0.05 * (i % 2)), kl: times(120, 0.0004) },
    verdict: 'pass',
  },
  {
    name: 'few steps with gradients, and a KL of exactly 0',
    metrics: { reward: noise.slice(0, 20), kl: times(20, 0), grad_norm: times(20, 0.1) },
    verdict: 'warn',
    measured: { kl: 0 },
  },
  {
    name: 'few steps with gradients, and a KL of exactly 0 to a reference that moves',
    metrics: {
      reward: noise.slice(0, 20),
      kl: times(20, 0),
      grad_norm: times(20, 0.1),
      'clip_ratio/region_mean': times(20, 0.05),
    },
    verdict: 'not applicable',
  },
  {
    name: 'few steps with gradients, and a small KL',
    metrics: {
      reward: noise.slice(0, 20),
      kl: times(20, (i) => (i === 9 ? 1e-9 : 0)),
      grad_norm: times(20, 0.1),
    },
    verdict: 'not applicable',
  },
  { name: 'few steps', metrics: { reward: noise.slice(0, 60), kl: times(60, 0) }, verdict: 'not applicable' },
]);

testLogCheck('B62.sparse', [
  {
    name: 'five entries of 140 steps that end below where they began',
    metrics: { reward: [0.25, 0.28, 0.22, 0.24, 0.23] },
    every: 35,
    verdict: 'inform',
    measured: { first: 1, last: 141, start: 0.265, end: 0.235, most: 0.28 },
  },
  {
    name: 'the same that rises',
    metrics: { reward: [0.25, 0.28, 0.3, 0.33, 0.34] },
    every: 35,
    verdict: 'pass',
  },
  {
    name: 'a reward that was high from the start',
    metrics: { reward: [0.9, 0.95, 0.92, 0.9, 0.93] },
    every: 35,
    verdict: 'pass',
  },
  {
    name: 'one that lost most, which B61.reward judges',
    metrics: { reward: [0.25, 0.26, 0.26, 0.02, 0.03] },
    every: 35,
    verdict: 'pass',
  },
  {
    name: 'five entries of 60 steps',
    metrics: { reward: [0.25, 0.28, 0.22, 0.24, 0.23] },
    every: 15,
    verdict: 'not applicable',
  },
  {
    name: 'every step, which B62.still judges',
    metrics: { reward: times(120, (i) => 0.25 + 0.01 * (i % 2)) },
    verdict: 'not applicable',
  },
]);
