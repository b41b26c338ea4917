import { expect } from 'vitest';
import { testLogCheck, times } from '../planted.test.helper.js';

const noise = (i: number) => 0.05 * ((7 * i) % 5);
const rising = times(40, (i) => i / 10 + noise(i));
const falling = times(40, (i) => Math.max(0, 0.5 - i / 50) + noise(i) / 5);

testLogCheck('B25.log', [
  {
    name: 'a penalty that outweighs the answer',
    metrics: { reward: rising, 'rewards/correct/mean': falling, 'rewards/brevity/mean': rising },
    verdict: 'warn',
    measured: { name: 'correct' },
  },
  {
    name: 'a penalty that the answer outweighs',
    metrics: { reward: rising, 'rewards/correct/mean': rising, 'rewards/brevity/mean': falling },
    verdict: 'pass',
  },
  {
    name: 'an answer that is lost with the total',
    metrics: { reward: falling, 'rewards/correct/mean': falling, 'rewards/brevity/mean': falling },
    verdict: 'pass',
  },
  {
    name: 'an answer below 0 that loses less than half of what it gained',
    metrics: {
      reward: rising,
      'rewards/correct/mean': times(40, (i) => (i < 10 ? -2 : i < 30 ? -0.6 : -0.75) + noise(i) / 10),
      'rewards/brevity/mean': rising,
    },
    verdict: 'pass',
  },
  {
    name: 'an answer below 0 that falls',
    metrics: {
      reward: rising,
      'rewards/correct/mean': times(40, (i) => (i < 20 ? -0.2 : -1) + noise(i) / 10),
      'rewards/brevity/mean': rising,
    },
    verdict: 'warn',
  },
  {
    name: 'one function',
    metrics: { reward: rising, 'rewards/correct/mean': rising },
    verdict: 'not applicable',
  },
]);

const exact = times(20, (i) => (3 + (i % 4)) / 10);
const overlong = times(20, (i) => -((i * i) % 7) / 10);
const weighted = (weight: number) => exact.map((value, i) => value + weight * overlong[i]!);

testLogCheck('B25.weights', [
  {
    name: 'a penalty below 0 with a weight below 0',
    metrics: { reward: weighted(-0.3), 'rewards/exact/mean': exact, 'rewards/overlong/mean': overlong },
    verdict: 'fail',
    measured: { name: 'overlong', weight: expect.closeTo(-0.3) },
  },
  {
    name: 'a penalty below 0 with a weight above 0',
    metrics: { reward: weighted(0.5), 'rewards/exact/mean': exact, 'rewards/overlong/mean': overlong },
    verdict: 'pass',
  },
  {
    name: 'a penalty that says how much is to be taken off',
    metrics: {
      reward: weighted(0.5),
      'rewards/exact/mean': exact,
      'rewards/overlong/mean': overlong.map((value) => -value),
    },
    verdict: 'pass',
  },
  {
    name: 'a penalty so small that its weight cannot be known',
    metrics: {
      reward: exact.map((value, i) => value + 1e-4 * (i % 3)),
      'rewards/exact/mean': exact,
      'rewards/overlong/mean': times(20, (i) => -1e-4 * (i % 3)),
    },
    verdict: 'pass',
  },
  {
    name: 'small rewards that are no sum of their functions',
    metrics: {
      reward: exact.map((value, i) => 1e-4 * (value + (i % 3))),
      'rewards/exact/mean': exact.map((value) => 1e-4 * value),
      'rewards/overlong/mean': overlong.map((value) => 1e-4 * value),
    },
    verdict: 'not applicable',
  },
  {
    name: 'a reward of which the functions are not all',
    metrics: {
      reward: weighted(-0.3).map((value, i) => value + (i % 3)),
      'rewards/exact/mean': exact,
      'rewards/overlong/mean': overlong,
    },
    verdict: 'not applicable',
  },
]);
