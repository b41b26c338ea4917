import { groupsOf } from '../groups.js';
import { testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import {
  all,
  declare,
  deviation,
  inFloat32,
  mean,
  recipe,
  scaled,
  undeclared,
  unscored,
} from '../plants.test.helper.js';

testStepCheck('B33.recompute', [
  {
    name: 'ddof 0 instead of 1',
    plant: scaled(1e-4, 0),
    verdict: 'fail',
    measured: { scale: 'group', ddof: 0 },
  },
  {
    name: 'one group by twice its deviation',
    plant: ({ advantages, completions }) => {
      for (const [b, p] of completions!.prompt!.entries()) if (p === 2) advantages![b]! /= 2;
    },
    verdict: 'fail',
    measured: { fits: 'some groups', off: 1, factor: 0.5 },
    evidence: { prompt: 2 },
  },
  {
    name: 'one group in another order',
    plant: ({ advantages, completions }) => {
      const own = [...completions!.prompt!.keys()].filter((b) => completions!.prompt![b] === 2);
      const values = own.map((b) => advantages![b]!);
      for (const [i, b] of own.entries()) advantages![b] = values[(i + 1) % own.length]!;
    },
    verdict: 'fail',
    measured: { fits: 'some groups', off: 1 },
  },
  {
    name: 'of the other sign',
    plant: ({ advantages }) => {
      for (const b of advantages!.keys()) advantages![b]! *= -1;
    },
    verdict: 'fail',
    measured: { fits: 'the other sign' },
  },
  {
    name: 'less the mean of the others alone',
    plant: recipe((own) => own.map((r) => (own.length * (r - mean(own))) / (own.length - 1))),
    verdict: 'fail',
    measured: { fits: 'another recipe', baseline: 'leave_one_out', scale: 'none' },
  },
  {
    name: 'not scaled',
    plant: recipe((own) => own.map((r) => r - mean(own))),
    verdict: 'fail',
    measured: { scale: 'none' },
  },
  {
    name: 'scaled by the batch',
    plant: recipe((own, batch) => own.map((r) => (r - mean(own)) / (deviation(batch) + 1e-4))),
    verdict: 'fail',
    measured: { scale: 'batch' },
  },
  {
    name: 'ddof 0, and only the scale is declared',
    plant: all(scaled(1e-6, 0), undeclared, declare({ advantage: { scale: 'group' } })),
    verdict: 'pass',
  },
  {
    name: 'scaled by the batch, as declared',
    plant: all(
      recipe((own, batch) => own.map((r) => (r - mean(own)) / (deviation(batch) + 1e-4))),
      declare({ advantage: { scale: 'batch' } }),
    ),
    verdict: 'pass',
  },
  {
    name: 'not scaled, as in Dr. GRPO',
    plant: all(
      recipe((own) => own.map((r) => r - mean(own))),
      declare({ advantage: { scale: 'none' } }),
    ),
    verdict: 'pass',
  },
  {
    name: 'the deviation held above 0.6',
    plant: recipe((own) => own.map((r) => (r - mean(own)) / Math.max(0.6, deviation(own)))),
    verdict: 'fail',
    measured: { fits: 'none of the known ways' },
  },
  {
    name: 'the same, and nothing is declared',
    plant: all(
      recipe((own) => own.map((r) => (r - mean(own)) / Math.max(0.6, deviation(own)))),
      undeclared,
    ),
    verdict: 'inform',
  },
  {
    name: 'clipped as declared',
    plant: all(
      ({ advantages }) => void advantages!.set(advantages!.map((a) => Math.min(1, a))),
      declare({ advantage: { clip: 1 } }),
    ),
    verdict: 'pass',
  },
  {
    name: 'clipped, and nobody said so',
    plant: ({ advantages }) => void advantages!.set(advantages!.map((a) => Math.min(1, a))),
    verdict: 'fail',
    measured: { bound: 1 },
  },
  {
    name: 'stored as float32',
    plant: ({ advantages }) => void advantages!.set(advantages!.map(Math.fround)),
    verdict: 'pass',
  },
  {
    name: 'rewards that are compared one by one, of which only the sums are there',
    plant: all(
      ({ rewards }) => delete rewards!.weights,
      scaled(1e-4, 0),
      declare({ advantage: { combine: 'normalize_then_sum' } }),
    ),
    verdict: 'not applicable',
  },
  { name: 'some completions were not graded', plant: unscored, verdict: 'pass' },
  { name: 'rounding in float32 of equal rewards', plant: inFloat32(5.7), verdict: 'pass' },
  {
    name: 'a group of nearly equal rewards was given 0',
    plant: ({ rewards, advantages }) => {
      rewards!.totals!.set([0.5, 0.501, 0.499, 0.5]);
      advantages!.fill(0, 0, 4);
    },
    verdict: 'pass',
  },
  {
    name: 'groups of two',
    plant: (record) => {
      const { completions, rewards } = record;
      completions!.prompt = completions!.prompt!.map((_, b) => Math.floor(b / 2));
      delete record.prompts;
      record.declared!.rollout!.group = 2;
      rewards!.totals = rewards!.totals!.map((_, b) => b % 2);
      scaled(1e-4, 1)(record);
    },
    verdict: 'pass',
  },
  {
    name: 'groups of unequal size, and no size declared',
    plant: (record) => {
      record.completions!.prompt = record.completions!.prompt!.map((_, b) => (b < 3 ? 0 : b < 10 ? 1 : 2));
      delete record.declared!.rollout!.group;
      scaled(1e-4, 1)(record);
      for (const group of groupsOf(record.completions!.prompt))
        if (group.every((b) => record.rewards!.totals![b] === 0.5))
          for (const b of group) record.advantages![b] = 0;
    },
    verdict: 'pass',
  },
  {
    name: 'each reward function normalised by itself, then the sum (GDPO)',
    plant: (record) => {
      undeclared(record);
      const totals = [...record.rewards!.totals!];
      const other = totals.map((_, b) => (b * 7) % 5);
      record.rewards!.names = ['right', 'form'];
      record.rewards!.weights = [1, 0.5];
      record.rewards!.values = Float64Array.from([...totals, ...other]);
      const groups = groupsOf(record.completions!.prompt!);
      const normal = (column: number[]) =>
        groups.flatMap((group) => {
          const own = group.map((b) => column[b]!);
          return own.map((r) => (r - mean(own)) / (deviation(own) + 1e-4));
        });
      const [a, b] = [normal(totals), normal(other)];
      const sums = a.map((value, i) => value + 0.5 * b[i]!);
      record.advantages!.set(sums.map((value) => (value - mean(sums)) / (deviation(sums) + 1e-4)));
    },
    verdict: 'pass',
  },
]);

testStepCheck('B33.leak', [
  {
    name: 'an ε of 1e-8 under rounding',
    plant: ({ advantages }) => void advantages!.fill(0.93, 0, 4),
    verdict: 'warn',
    evidence: { prompt: 0, values: { advantage: 0.93 } },
  },
  {
    name: 'the same where the first of them has no reward',
    plant: ({ rewards, advantages }) => {
      rewards!.totals![0] = Number.NaN;
      advantages!.fill(0.93, 0, 4);
    },
    verdict: 'warn',
    evidence: { prompt: 0, values: { advantage: 0.93 } },
  },
  { name: 'what TRL leaves of it', plant: inFloat32(5.7), verdict: 'pass' },
  {
    name: 'rewards that are compared one by one, with equal sums',
    plant: all(
      ({ advantages }) => void advantages!.fill(0.93, 0, 4),
      declare({ advantage: { combine: 'normalize_then_sum' } }),
    ),
    verdict: 'not applicable',
  },
]);

testLogCheck('B33.extreme', [
  {
    name: 'one of thousands',
    metrics: { 'advantages/max': [1.5, 7428, 2], reward: times(3, 0.4) },
    verdict: 'warn',
    evidence: { step: 2 },
    measured: { most: 7428, beyond: 1 },
  },
  { name: 'beside rewards that nobody knows', metrics: { 'advantages/max': [1.5, 7428] }, verdict: 'inform' },
  {
    name: 'of large rewards that nothing divides',
    metrics: { 'advantages/max': [150, 200, 90], reward: times(3, 80) },
    verdict: 'pass',
  },
]);
