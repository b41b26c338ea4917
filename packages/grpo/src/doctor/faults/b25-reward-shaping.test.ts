import { describe, expect, it } from 'vitest';
import type { StepRecord } from '../../trace/index.js';
import { testLogCheck, times } from '../planted.test.helper.js';
import { judgeRun, recordsOf } from '../plants.test.helper.js';

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

/** Every second completion is right; `paid` says what each earns. */
const graded =
  (name: string, paid: (isRight: boolean, b: number) => number, format = 0) =>
  ({ completions, prompts, rewards }: StepRecord) => {
    prompts!.answers = Array.from(prompts!.lengths!, () => '5');
    completions!.texts = completions!.texts!.map((_, b) => `It is ${b % 2 === 0 ? 5 : 6 + b}`);
    const B = completions!.texts.length;
    const own = Float64Array.from({ length: B }, (_, b) => paid(b % 2 === 0, b));
    const form = Float64Array.from({ length: B }, (_, b) => (b % 2 === 0 ? 0 : format));
    rewards!.names = [name, 'format'];
    rewards!.weights = [1, 1];
    rewards!.values = Float64Array.of(...own, ...form);
    rewards!.totals = own.map((value, b) => value + form[b]!);
  };

describe('B25.reversed', () => {
  const judged = (...args: Parameters<typeof graded>) =>
    judgeRun('B25.reversed', recordsOf([1, 2, 3], graded(...args)));

  it('warns where right answers earn less in every group', () => {
    expect(judged('distance', (isRight, b) => (isRight ? 0 : 1 + b))).toMatchObject({
      severity: 'warn',
      measured: { right: 0 },
    });
  });

  it('passes where one group pays them more, where all earn the same, and where the form alone pays less', () => {
    expect(judged('mixed', (isRight, b) => Number(isRight === b < 2))).toMatchObject({ verdict: 'pass' });
    expect(judged('same', () => 1)).toMatchObject({ verdict: 'pass' });
    expect(judged('right', (isRight) => Number(isRight), 2)).toMatchObject({ verdict: 'pass' });
  });
});

describe('B25.outweighed', () => {
  const judged = (...args: Parameters<typeof graded>) =>
    judgeRun('B25.outweighed', recordsOf([1, 2, 3], graded(...args)));

  it('warns where the form pays wrong answers more than the answer pays right ones', () => {
    expect(judged('right', (isRight) => Number(isRight) / 20, 1)).toMatchObject({
      severity: 'warn',
      measured: { pays: 'right', by: 'format' },
    });
  });

  it('passes where the answer weighs more, and where nothing pays the answer', () => {
    expect(judged('right', (isRight) => Number(isRight), 0.5)).toMatchObject({ verdict: 'pass' });
    expect(judged('same', () => 1, 1)).toMatchObject({ verdict: 'pass' });
  });
});

describe('B25.trifles', () => {
  const judged = (share: number) =>
    judgeRun(
      'B25.trifles',
      recordsOf([1, 2, 3, 4], (record) => {
        const { completions, rewards, advantages } = record;
        record.declared!.advantage = { ...record.declared!.advantage, scale: 'group' };
        const groups = Math.max(...completions!.prompt!) + 1;
        for (const [b, p] of completions!.prompt!.entries()) {
          rewards!.totals![b] = b % 2 === 0 ? 1 : p < share * groups ? 0.999 : 0;
          advantages![b] = b % 2 === 0 ? 0.9 : -0.9;
        }
        rewards!.totals![rewards!.totals!.length - 1] = 0;
      }),
    );

  it('warns where many groups learn from trifles, and passes where none does', () => {
    expect(judged(0.5)).toMatchObject({ severity: 'warn', measured: { range: 1 } });
    expect(judged(0)).toMatchObject({ verdict: 'pass' });
  });
});
