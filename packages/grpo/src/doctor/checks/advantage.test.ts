import type { StepRecord } from '../../trace/index.js';
import { testStepCheck } from '../planted.test.helper.js';
import { groupsOf } from '../statistics.js';

/** Advantages made anew, group by group, from rewards. */
const recipe =
  (advantagesOf: (rewards: number[], all: readonly number[]) => number[]) =>
  ({ rewards, advantages, completions }: StepRecord): void => {
    for (const group of groupsOf(completions!.prompt!)) {
      const own = advantagesOf(
        group.map((b) => rewards!.totals![b]!),
        [...rewards!.totals!],
      );
      for (const [i, b] of group.entries()) advantages![b] = own[i]!;
    }
  };
const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
const deviation = (values: readonly number[], ddof = 1) => {
  const centre = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - ddof));
};
const scaled = (epsilon: number, ddof: number) =>
  recipe((own) => own.map((r) => (r - mean(own)) / (deviation(own, ddof) + epsilon)));
const declare = (changes: NonNullable<StepRecord['declared']>) => (record: StepRecord) => {
  record.declared = { ...record.declared, ...changes };
};
const undeclared = ({ declared }: StepRecord) => {
  for (const key of ['scaleRewards', 'advantageEpsilon', 'advantageDdof'] as const) delete declared![key];
};
const all =
  (...plants: ((record: StepRecord) => void)[]) =>
  (record: StepRecord) => {
    for (const plant of plants) plant(record);
  };
const unscored = ({ rewards, advantages }: StepRecord) => {
  rewards!.totals!.fill(Number.NaN, 12, 14);
  advantages!.fill(0, 12, 14);
  // Two equal ones are left of the group.
  advantages!.fill(0, 14, 16);
};
const whitened = ({ rewards, advantages, completions }: StepRecord) => {
  const centred = groupsOf(completions!.prompt!).flatMap((group) => {
    const own = group.map((b) => rewards!.totals![b]!);
    return own.map((r) => r - mean(own));
  });
  advantages!.set(centred.map((value) => value / (deviation(centred) + 1e-8)));
};
/** As TRL computes them: the mean of equal rewards is off by rounding. */
const inFloat32 = (reward: number) => (record: StepRecord) => {
  record.rewards!.totals!.fill(reward, 0, 8);
  for (let b = 0; b < 8; b++) record.advantages![b] = -(reward * 2 ** -23) / 1e-4;
};

testStepCheck('B29.advantage', [
  {
    name: 'NaN',
    plant: ({ advantages }) => {
      advantages![9] = Number.NaN;
    },
    verdict: 'fail',
    evidence: { completion: 9 },
  },
  {
    name: 'an advantage without a reward',
    plant: ({ rewards }) => {
      rewards!.totals![9] = Number.NaN;
    },
    verdict: 'fail',
    evidence: { completion: 9 },
  },
  { name: 'no reward and no advantage', plant: unscored, verdict: 'pass', measured: { unscored: 2 } },
]);

testStepCheck('B31.grouping', [
  {
    name: 'rewards of [p1, p2, …] read as [p1, p1, …]',
    plant: (record) => {
      const { completions } = record;
      const truth = completions!.prompt!;
      completions!.prompt = truth.map((_, b) => b % 6);
      scaled(1e-4, 1)(record);
      completions!.prompt = truth;
    },
    verdict: 'fail',
  },
  { name: 'rewards that were not graded', plant: unscored, verdict: 'pass' },
  {
    name: 'groups of which a part is on another machine',
    plant: declare({ groupSize: 8 }),
    verdict: 'not applicable',
  },
]);

testStepCheck('B32.whitening', [
  { name: 'centred by group, scaled by the batch', plant: whitened, verdict: 'fail' },
  { name: 'the same, and no scale is declared', plant: all(whitened, undeclared), verdict: 'inform' },
  {
    name: 'the same, as declared',
    plant: all(whitened, declare({ scaleRewards: 'batch' })),
    verdict: 'pass',
  },
]);

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
    name: 'clipped as declared',
    plant: all(({ advantages }) => void advantages!.fill(0.1, 8, 12), declare({ advantageClip: 2 })),
    verdict: 'not applicable',
  },
]);

testStepCheck('B33.recompute', [
  {
    name: 'ddof 0 instead of 1',
    plant: scaled(1e-4, 0),
    verdict: 'fail',
    measured: { scale: 'group', ddof: 0 },
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
    plant: all(scaled(1e-6, 0), undeclared, declare({ scaleRewards: 'group' })),
    verdict: 'pass',
  },
  {
    name: 'scaled by the batch, as declared',
    plant: all(
      recipe((own, batch) => own.map((r) => (r - mean(own)) / (deviation(batch) + 1e-4))),
      declare({ scaleRewards: 'batch' }),
    ),
    verdict: 'pass',
  },
  {
    name: 'not scaled, as in Dr. GRPO',
    plant: all(
      recipe((own) => own.map((r) => r - mean(own))),
      declare({ scaleRewards: 'none' }),
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
      declare({ advantageClip: 1 }),
    ),
    verdict: 'pass',
  },
  {
    name: 'clipped, and nobody said so',
    plant: ({ advantages }) => void advantages!.set(advantages!.map((a) => Math.min(1, a))),
    verdict: 'inform',
    measured: { bound: 1 },
  },
  {
    name: 'stored as float32',
    plant: ({ advantages }) => void advantages!.set(advantages!.map(Math.fround)),
    verdict: 'pass',
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
      record.declared!.groupSize = 2;
      rewards!.totals = rewards!.totals!.map((_, b) => b % 2);
      scaled(1e-4, 1)(record);
    },
    verdict: 'pass',
  },
  {
    name: 'groups of unequal size, and no size declared',
    plant: (record) => {
      record.completions!.prompt = record.completions!.prompt!.map((_, b) => (b < 3 ? 0 : b < 10 ? 1 : 2));
      delete record.declared!.groupSize;
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
  { name: 'what TRL leaves of it', plant: inFloat32(5.7), verdict: 'pass' },
]);

testStepCheck('B30.flat', [
  {
    name: 'all groups flat',
    plant: ({ rewards }) => void rewards!.totals!.fill(1),
    verdict: 'inform',
    measured: { share: 1, reward: 1 },
  },
  {
    name: 'two thirds of groups of two',
    plant: (record) => {
      record.completions!.prompt = record.completions!.prompt!.map((_, b) => Math.floor(b / 2));
      record.rewards!.totals!.set(record.rewards!.totals!.map((_, b) => (b % 6 === 0 ? 1 : 0)));
    },
    verdict: 'pass',
  },
]);
