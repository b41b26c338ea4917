import type { Declared } from '../../trace/index.js';
import { testLogCheck, times } from '../planted.test.helper.js';

const adaptive = {
  kl: { control: 'adaptive', target: 0.1, band: 0.05, up: 1.1, down: 0.9, window: 1 },
} satisfies Declared;

testLogCheck('B50.log', [
  {
    name: 'a β that nobody reads',
    metrics: { kl: times(60, 5), beta: times(60, 0.1) },
    declared: { kl: { target: 0.1 } },
    verdict: 'warn',
    measured: { stuck: 60 },
  },
  {
    name: 'a β that follows',
    metrics: { kl: times(60, 5), beta: times(60, (i) => 0.1 * 1.1 ** i) },
    declared: { kl: { target: 0.1 } },
    verdict: 'pass',
  },
  {
    name: 'a KL around its target',
    metrics: { kl: times(60, (i) => 0.1 + (i % 3) / 100), beta: times(60, 0.1) },
    declared: { kl: { target: 0.1 } },
    verdict: 'pass',
  },
  {
    name: 'a β at its bound',
    metrics: { kl: times(60, 5), beta: times(60, 0.1) },
    declared: { kl: { target: 0.1, most: 0.1 } },
    verdict: 'pass',
  },
  {
    name: 'a β that is 0 while it warms up',
    metrics: { kl: times(60, 5), beta: times(60, (i) => (i < 55 ? 0 : 0.1 * 1.1 ** i)) },
    declared: { kl: { target: 0.1, warmupSteps: 55 } },
    verdict: 'pass',
  },
  {
    name: 'the β of a kind that nobody reads',
    metrics: { kl: times(60, 5), 'kl/a': times(60, 5), 'beta/a': times(60, 0.1), 'beta/b': times(60, 0.1) },
    declared: { kl: { target: 0.1 } },
    verdict: 'warn',
    measured: { stuck: 60 },
  },
  { name: 'no target known', metrics: { kl: times(60, 5), beta: times(60, 0.1) }, verdict: 'not applicable' },
]);

testLogCheck('B50.control', [
  {
    name: 'follows',
    metrics: { kl: [0.2, 0.2, 0.1, 0.01, 0.1], beta: [0.1, 0.11, 0.121, 0.121, 0.1089] },
    declared: adaptive,
    verdict: 'pass',
    measured: { entries: 4 },
  },
  {
    name: 'falls, since β × KL is below the target',
    metrics: { kl: [0.2, 0.2, 0.2], beta: [0.1, 0.09, 0.081] },
    declared: adaptive,
    verdict: 'fail',
    evidence: { step: 2, values: { kl: 0.2, beta: 0.09 } },
  },
  {
    name: 'a bound and a warm-up',
    metrics: { kl: [0.2, 0.2, 0.2, 0.2], beta: [0, 0.05, 0.1, 0.1] },
    declared: { ...adaptive, kl: { ...adaptive.kl, most: 0.1, warmupSteps: 2 } },
    verdict: 'pass',
    measured: { entries: 1 },
  },
  {
    name: 'a Lagrangian over a window',
    metrics: { kl: [0.2, 0.4, 0.3, 0], beta: [0.1, 0.2, 0.4, 0.6] },
    declared: { kl: { control: 'lagrangian', target: 0.1, rate: 1, window: 3 } },
    verdict: 'pass',
  },
  {
    name: 'a kind that is missing in a step',
    metrics: {
      kl: [0.2, 0.2, 0.2],
      'kl/a': [0.2, Number.NaN, 0.2],
      'beta/a': [0.1, Number.NaN, 0.11],
    },
    declared: adaptive,
    verdict: 'pass',
    measured: { entries: 1 },
  },
  {
    name: 'no control is declared',
    metrics: { kl: [0.2, 0.2], beta: [0.1, 0.1] },
    declared: { kl: { target: 0.1 } },
    verdict: 'not applicable',
  },
]);
