import { expect, it } from 'vitest';
import type { StepRecord } from '../../trace/index.js';
import { testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { all, declare, facts } from '../plants.test.helper.js';
import { registry } from '../registry.js';

const gap = Number.NaN;

testLogCheck('B54.conflict', [
  {
    name: 'three measurements',
    metrics: { grad_cosine: [0.2, gap, -0.2, gap, -0.3, gap, -0.11, gap, 0.5] },
    verdict: 'warn',
    evidence: { step: 3 },
  },
  { name: 'now and then', metrics: { grad_cosine: [-0.2, -0.3, 0.1, -0.2, -0.05, -0.3] }, verdict: 'pass' },
]);

testLogCheck('B54.rate', [
  {
    name: 'a warm-up that is longer than the run',
    metrics: { learning_rate: times(12, (i) => i * 1e-9) },
    verdict: 'inform',
    measured: { entries: 12 },
  },
  {
    name: 'a warm-up that is longer than the run, which is over',
    metrics: { learning_rate: times(12, (i) => i * 1e-9) },
    series: { lastStep: 12 },
    verdict: 'warn',
    measured: { ended: true },
  },
  {
    name: 'a warm-up that is not over, as the run is not',
    metrics: { learning_rate: times(12, (i) => i * 1e-9) },
    series: { lastStep: 100 },
    verdict: 'inform',
  },
  {
    name: 'a schedule that ends early',
    metrics: { learning_rate: times(60, (i) => Math.max(0, 16 - i) * 1e-5) },
    verdict: 'warn',
    measured: { over: 44 },
  },
  {
    name: 'a short one, of which a quarter is left',
    metrics: { learning_rate: times(8, (i) => Math.max(0, 5 - i) * 1e-5) },
    verdict: 'warn',
    measured: { over: 3, since: 6 },
  },
  {
    name: 'a short one that ends with the run',
    metrics: { learning_rate: times(8, (i) => Math.max(0, 6 - i) * 1e-5) },
    verdict: 'pass',
  },
  {
    name: 'a cosine whose period is a part of the run',
    metrics: { learning_rate: times(24, (i) => 1e-4 * (0.5 + 0.5 * Math.cos((Math.PI * i) / 4))) },
    verdict: 'warn',
    measured: { low: 5 },
  },
  {
    name: 'a cosine with restarts',
    metrics: { learning_rate: times(24, (i) => 1e-4 * (0.5 + 0.5 * Math.cos((Math.PI * (i % 8)) / 7))) },
    verdict: 'pass',
  },
  {
    name: 'a schedule that ends with the run',
    metrics: { learning_rate: times(60, (i) => (59 - i) * 1e-5) },
    verdict: 'pass',
  },
  {
    name: 'a warm-up that ends',
    metrics: { learning_rate: times(12, (i) => Math.min(i, 6) * 1e-9) },
    verdict: 'pass',
  },
  {
    name: 'printed as 0.000',
    metrics: { learning_rate: times(9, 0) },
    series: { decimals: { learning_rate: 3 } },
    verdict: 'not applicable',
  },
  { name: 'always 0', metrics: { learning_rate: times(5, 0) }, verdict: 'warn' },
  { name: 'a warm-up from 0', metrics: { learning_rate: [0, 1e-7, 2e-7] }, verdict: 'pass' },
]);

testLogCheck('B54.gradient', [
  {
    name: 'grows fiftyfold in six entries',
    metrics: { grad_norm: [0.048, 0.055, 0.2, 0.6, 1.35, 2.7] },
    verdict: 'warn',
    measured: { usual: 0.048, worst: 2.7 },
  },
  {
    name: 'grows hundredfold in twelve, with swings',
    metrics: { grad_norm: [0.5, 0.7, 0.4, 0.6, 0.5, 0.8, 12, 40, 20, 60, 45, 60] },
    verdict: 'warn',
    evidence: { step: 7 },
  },
  {
    name: 'small in the second entry alone',
    metrics: { grad_norm: [0.47, 0.0017, 1.09, 0.59, 1.54, 0.83, 0.85, 1.2, 0.61, 1.53] },
    verdict: 'not applicable',
  },
  {
    name: 'grows as the reward begins to pay',
    metrics: { grad_norm: [0.01, 0.02, 0.2, 0.6, 1.35], reward: [0, 0, 0.1, 0.3, 0.6] },
    verdict: 'not applicable',
  },
  {
    name: 'small in the first entry',
    metrics: { grad_norm: [0.01, 1, 0.8, 1.2] },
    verdict: 'not applicable',
  },
  {
    name: 'grows for good, of which the evidence is the entry’s own norm',
    metrics: { grad_norm: times(40, (i) => (i < 20 ? 1 : i === 20 ? 50 : 8 + (i % 2))) },
    verdict: 'warn',
    evidence: { step: 21, values: { value: 50 } },
    measured: { stays: true, isDrift: false, step: 21 },
  },
  {
    name: 'grows, and comes back in one entry',
    metrics: { grad_norm: times(40, (i) => (i < 20 || i === 30 ? 1 : 8 + (i % 2))) },
    verdict: 'warn',
    measured: { stays: false },
  },
  {
    name: 'jumps at the end of a short log',
    metrics: { grad_norm: [0.11, 0.03, 0.07, 0.06, 7.16] },
    verdict: 'inform',
    evidence: { step: 5 },
    measured: { isLast: true },
  },
  { name: 'of a short log', metrics: { grad_norm: [0.11, 0.03, 0.3, 0.06] }, verdict: 'not applicable' },
  {
    name: 'spikes in a short run',
    metrics: { grad_norm: times(24, (i) => (i % 6 === 5 ? 1000 : 5 + (i % 3))) },
    verdict: 'inform',
    measured: { spikes: 4 },
  },
  {
    name: 'runs away',
    metrics: { grad_norm: times(200, (i) => (i < 120 ? 1 : 1 + (i - 120) / 2)) },
    verdict: 'warn',
  },
  {
    name: 'large in the first steps',
    metrics: { grad_norm: times(200, (i) => (i < 8 ? 40 : 1)) },
    verdict: 'pass',
  },
  {
    name: 'mostly 0 in the end',
    metrics: { grad_norm: times(200, (i) => (i < 100 || i % 10 === 0 ? 1 : 0)) },
    verdict: 'pass',
  },
]);

testLogCheck('B54.ratio', [
  {
    name: 'a third of the tokens',
    metrics: { 'clip_ratio/region_mean': times(12, (i) => 0.3 + 0.02 * (i % 3)) },
    verdict: 'inform',
  },
  {
    name: 'most tokens in the end',
    metrics: { 'clip_ratio/region_mean': times(12, (i) => (i < 8 ? 0.05 : 0.8)) },
    verdict: 'warn',
  },
  {
    name: 'a few, and one bad entry',
    metrics: { 'clip_ratio/region_mean': [...times(9, 0.02), 0.9] },
    verdict: 'pass',
  },
]);

testLogCheck('B54.clipped', [
  {
    name: 'always',
    metrics: { grad_norm: times(20, 24) },
    declared: { optimizer: { maxGradNorm: 1 } },
    verdict: 'inform',
  },
  { name: 'no clip known', metrics: { grad_norm: times(20, 24) }, verdict: 'not applicable' },
]);

testLogCheck('B54.entropy', [
  { name: 'collapses', metrics: { entropy: times(20, (i) => 0.5 ** i) }, verdict: 'inform' },
  {
    name: 'collapses while the reward stands still',
    metrics: { entropy: times(120, (i) => 0.9 ** i), reward: times(120, (i) => 0.3 + 0.01 * (i % 3)) },
    verdict: 'warn',
  },
  { name: 'falls', metrics: { entropy: times(20, (i) => 1 - i / 30) }, verdict: 'pass' },
]);

it('swapped bounds are told of where every token counts as clipped', () => {
  const { says } = registry.find(({ code }) => code === 'B54.ratio')!;
  expect(says({ entries: 9, share: 1 })).toContain('swapped');
  expect(says({ entries: 9, share: 0.6 })).not.toContain('swapped');
});

testLogCheck('B54.size', [
  { name: 'of nine digits', metrics: { grad_norm: [2.9e9, 2.2e9] }, verdict: 'warn' },
  { name: 'in the last entry', metrics: { grad_norm: [1, 111, 5.4e7] }, verdict: 'warn' },
  { name: 'of hundreds', metrics: { grad_norm: [300, 900, 400] }, verdict: 'pass' },
  { name: 'one that was skipped', metrics: { grad_norm: [1, 5e7, 1] }, verdict: 'pass' },
]);

const JUMP = [0.001, 0.001, 0.119, 0.051, 0.038, 0.075];
testLogCheck('B54.jump', [
  {
    name: 'after which the reward fell',
    metrics: { 'kl/old': JUMP, reward: [0.77, 0.94, 0.59, 0.26, 0.44, 0.31] },
    verdict: 'warn',
    evidence: { step: 3, values: { value: 0.119 } },
    measured: { usual: 0.001, best: 0.94, late: 0.31 },
  },
  {
    name: 'after which it did not',
    metrics: { 'kl/old': JUMP, reward: [0.77, 0.94, 0.9, 0.9, 0.9, 0.9] },
    verdict: 'inform',
  },
  {
    name: 'that leaves nothing, in the only entry',
    metrics: { 'kl/old': [26] },
    verdict: 'warn',
    evidence: { step: 1, values: { value: 26 } },
    measured: { entries: 1, value: 26 },
  },
  { name: 'of a run that is always there', metrics: { 'kl/old': [0.2, 0.15, 0.2, 0.25] }, verdict: 'pass' },
]);

const adapters = (rank: number, learningRate: number, alpha?: number) => (record: StepRecord) => {
  declare({ lora: { rank, ...(alpha && { alpha }) }, optimizer: { learningRate } })(record);
};

testStepCheck('B54.decay', [
  {
    name: 'one in a hundred with each update',
    plant: ({ declared }) => {
      declared!.optimizer = { ...declared!.optimizer, learningRate: 5e-4, weightDecay: 20 };
    },
    verdict: 'warn',
    measured: { share: 0.01 },
  },
  {
    name: 'a usual one at the rate of adapters',
    plant: ({ declared }) => {
      declared!.optimizer = { ...declared!.optimizer, learningRate: 1e-3, weightDecay: 0.1 };
    },
    verdict: 'pass',
  },
]);

testStepCheck('B54.adapters', [
  { name: 'a rate for all weights', plant: adapters(8, 1e-6), verdict: 'warn', measured: { rank: 8 } },
  { name: 'a rate for adapters', plant: adapters(8, 1e-5), verdict: 'pass' },
  { name: 'a factor of 256', plant: adapters(2, 1e-3, 512), verdict: 'warn', measured: { factor: 256 } },
  { name: 'a factor of 32 at rank 1', plant: adapters(1, 1e-4, 32), verdict: 'pass' },
  { name: 'a rate of 0, which others judge', plant: adapters(8, 0), verdict: 'pass' },
  { name: 'a factor of 0.003', plant: adapters(16, 2e-3, 0.05), verdict: 'warn', measured: { rank: 16 } },
  { name: 'a small factor, and a rate that makes up for it', plant: adapters(64, 1e-2, 1), verdict: 'pass' },
  { name: 'all weights', plant: adapters(0, 1e-6), verdict: 'not applicable' },
]);

testStepCheck('B54.uphill', [
  {
    name: 'an optimizer that climbs',
    plant: facts({ descent: -0.6 }),
    verdict: 'fail',
    measured: { descent: -0.6 },
  },
  { name: 'one that weight decay turns a little', plant: facts({ descent: -0.01 }), verdict: 'pass' },
  {
    name: 'a later step, where moments may lead elsewhere',
    plant: all(facts({ descent: -0.6 }), (record) => {
      record.step = 2;
    }),
    verdict: 'not applicable',
  },
]);

testStepCheck('B54.moments', [
  {
    name: 'a checkpoint of the weights alone',
    plant: facts({ resumed: { made: 8, counted: 0 } }),
    verdict: 'fail',
    measured: { made: 8 },
  },
  {
    name: 'updates that were skipped by an overflow',
    plant: facts({ resumed: { made: 8, counted: 6 } }),
    verdict: 'pass',
  },
]);

testStepCheck('B54.schedule', [
  {
    name: 'a schedule of an optimizer that was replaced',
    plant: (record) => {
      record.probes!.schedulesAnother = true;
    },
    verdict: 'fail',
  },
]);
