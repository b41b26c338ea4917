import { expect } from 'vitest';
import { testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { all, declare, inFloat32, recipe, undeclared } from '../plants.test.helper.js';

testStepCheck('B34.raw', [
  {
    name: 'raw rewards where they differ little',
    plant: ({ rewards, advantages }) => void advantages!.set(rewards!.totals!.subarray(0, 8)),
    verdict: 'fail',
    evidence: { completion: 0, values: { advantage: 0.5 } },
  },
  {
    name: 'raw rewards for all, as another method has them',
    plant: all(
      recipe((own) => own),
      undeclared,
    ),
    verdict: 'inform',
  },
  { name: 'raw rewards for all', plant: recipe((own) => own), verdict: 'fail' },
]);

testStepCheck('B34.sum', [
  {
    name: 'centred by what it should not be',
    plant: ({ advantages }) => void advantages!.fill(0.1, 8, 12),
    verdict: 'fail',
    evidence: { prompt: 2 },
  },
  { name: 'rounding in float32 of equal rewards, 0.2', plant: inFloat32(0.2), verdict: 'pass' },
  { name: 'rounding in float32 of equal rewards, 5.7', plant: inFloat32(5.7), verdict: 'pass' },
  { name: 'rounding in float32 of equal rewards, 250', plant: inFloat32(250), verdict: 'pass' },
  {
    name: 'clipped, and nobody said so, which B33.recompute says',
    plant: ({ advantages }) => void advantages!.set(advantages!.map((a) => Math.min(1, a))),
    verdict: 'not applicable',
  },
  {
    name: 'clipped as declared',
    plant: all(({ advantages }) => void advantages!.fill(0.1, 8, 12), declare({ advantage: { clip: 2 } })),
    verdict: 'not applicable',
  },
]);

const reward = times(12, (i) => 0.3 + i / 40);
const offBy = (off: number) => ({
  reward,
  'advantages/mean': times(12, off * 0.9),
  'advantages/std': times(12, 0.9),
});

testLogCheck('B34.log', [
  {
    name: 'the extremes of the rewards, of verl with one completion per prompt',
    metrics: { reward: reward.slice(0, 4), 'advantages/raw': times(4, 1) },
    verdict: 'inform',
    measured: { entries: 4 },
  },
  {
    name: 'the extremes of the rewards in one entry of four',
    metrics: { reward: reward.slice(0, 4), 'advantages/raw': [1, 0, 0, 0] },
    verdict: 'not applicable',
  },
  {
    name: 'the mean of the rewards',
    metrics: { reward, 'advantages/mean': reward },
    verdict: 'warn',
    measured: { entries: 12 },
  },
  {
    name: 'a mean far from 0',
    metrics: offBy(-0.8),
    verdict: 'warn',
    measured: { off: expect.closeTo(0.8) },
  },
  { name: 'a mean over tokens, where right answers are long', metrics: offBy(0.3), verdict: 'inform' },
  { name: 'means of both signs', metrics: offBy(1e-8), verdict: 'pass' },
  {
    name: 'a mean above 0 without a deviation',
    metrics: { ...offBy(1.5), 'advantages/std': [] },
    verdict: 'warn',
  },
  {
    name: 'a mean above 0 of rewards that differ widely, without a deviation',
    metrics: { ...offBy(1.5), 'advantages/std': [], reward_std: times(12, 9) },
    verdict: 'pass',
  },
]);
