import { describe, expect, it } from 'vitest';
import { seriesOf } from '../planted.test.helper.js';
import { breakOf, isBy, isTimes } from './break.js';
import { MetricCourse } from './metric-course.js';
import { courseRows, rowText } from './rows.js';
import { RunCourse } from './run-course.js';
import { segmentsOf } from './segments.js';

const points = (values: readonly number[]) => values.map((value, i) => ({ step: i + 1, value }));
const swing = (level: number, count: number) =>
  Array.from({ length: count }, (_, i) => level + 0.1 * (i % 2));

describe('segmentsOf', () => {
  it('cuts where the level changes, and nowhere else', () => {
    const segments = segmentsOf([...swing(1, 20), ...swing(3, 12), ...swing(1, 20)], 0.1);
    expect(segments.map(({ from, to }) => [from, to])).toEqual([
      [0, 20],
      [20, 32],
      [32, 52],
    ]);
    expect(segments[1]!.level).toBeCloseTo(3.05);
  });
  it('leaves noise whole', () => {
    expect(
      segmentsOf(
        Array.from({ length: 100 }, (_, i) => Math.sin(1.7 * i * i)),
        0.9,
      ),
    ).toHaveLength(1);
  });
});

describe('a course', () => {
  it('has its start, its end, the step of the change, and how far beyond the noise', () => {
    const { start, end, shift } = new MetricCourse(points([...swing(1, 30), ...swing(0.2, 10)]));
    expect([start, end]).toEqual([expect.closeTo(1.04), expect.closeTo(0.26)]);
    expect(shift.step).toBe(31);
    expect(shift.beyond).toBeGreaterThan(10);
  });
  it('falls from its best level, not from its start', () => {
    const { fall } = new MetricCourse(points([...swing(0.1, 10), ...swing(0.9, 20), ...swing(0, 10)]));
    expect(fall).toMatchObject({ from: expect.closeTo(0.95), to: expect.closeTo(0.06), step: 31 });
  });
  it('rises to the best level that lasts, not to a single entry', () => {
    const values = [...swing(0.1, 20), ...swing(0.5, 20)];
    values[25] = 9;
    expect(new MetricCourse(points(values)).rise.to).toBeLessThan(0.6);
  });
  it('compares ratios above a floor', () => {
    const course = new MetricCourse(points(Array.from({ length: 32 }, (_, i) => (i < 16 ? 0 : 1))), 1e-4);
    expect(course.start).toBeCloseTo(1e-4);
    expect(course.shift.to).toBeCloseTo(1);
  });
  it('names what healed', () => {
    const course = new MetricCourse(points([...swing(0, 20), ...swing(0.9, 10), ...swing(0, 20)]));
    expect(course.healed((level) => level > 0.5)).toMatchObject({ from: 21, to: 30 });
    expect(
      new MetricCourse(points([...swing(0, 20), ...swing(0.9, 10)])).healed((level) => level > 0.5),
    ).toBeUndefined();
  });
  it('dates a change by what most entries show: a dip after it is no second one', () => {
    const values = [...swing(0.1, 8), ...swing(0.7, 12), 0.2, 0.1, ...swing(0.7, 8)];
    expect(new MetricCourse(points(values)).shift.step).toBe(9);
    const before = [...swing(0.1, 4), 0.8, ...swing(0.1, 6), ...swing(0.7, 12)];
    expect(new MetricCourse(points(before)).shift.step).toBe(12);
  });
  it('keeps the steps of a long run', () => {
    const long = points(Array.from({ length: 4000 }, (_, i) => (i < 3000 ? 1 : 0) + 0.1 * Math.sin(i * i)));
    expect(Math.abs(new MetricCourse(long).shift.step - 3000)).toBeLessThan(20);
  });
});

describe('the rows of a log without a known reward', () => {
  const named = (metrics: Record<string, number[]>) =>
    courseRows(new RunCourse(seriesOf({ metrics }))).map(({ name }) => name);

  it('are all that it has, where a known reward leaves out what keeps its size', () => {
    expect(named({ kl: [0.1, 0.1, 0.2], tomi: [0.4, 0.5, 0.3] })).toContain('tomi');
    expect(named({ reward: [0.1, 0.1, 0.2], tomi: [0.4, 0.5, 0.3] })).not.toContain('tomi');
  });
});

describe('flat groups of a log without their share', () => {
  const rowsOf = (metrics: Record<string, (number | undefined)[]>) =>
    courseRows(new RunCourse(seriesOf({ metrics }))).filter(({ quantity }) => quantity === 'flat');

  it('have a row where some entry has no signal at all', () => {
    expect(rowsOf({ reward: [0.5, 0.4, 0.6], 'advantages/all_zero': [0, 1, 0] })).toHaveLength(1);
  });

  it('have none where a critic takes their place', () => {
    const series = seriesOf({ metrics: { reward: [0, 0.4, 0], reward_std: [0, 0.5, 0] } });
    expect(new RunCourse(series).flatShares).toHaveLength(3);
    expect(new RunCourse({ ...series, hasCritic: true }).flatShares).toEqual([]);
  });

  it('have none where every entry has one: the share is not known to be 0', () => {
    expect(rowsOf({ reward: [0.5, 0.4, 0.6], 'advantages/all_zero': [0, 0, 0] })).toEqual([]);
    expect(rowsOf({ reward: [0.5, 0.4, 0.6], frac_reward_zero_std: [0, 0, 0] })).toHaveLength(1);
  });
});

describe('a change', () => {
  const textOf = (values: readonly number[]) =>
    rowText(courseRows(new RunCourse(seriesOf({ metrics: { reward: values } })))[0]!)[2];
  const noise = (i: number) => 0.02 * Math.sin(1.7 * i * i);
  const values = (count: number, value: (i: number) => number) =>
    Array.from({ length: count }, (_, i) => value(i));

  it('is dated where it is a jump, and told as a drift where a straight line fits', () => {
    expect(textOf(values(40, (i) => (i < 20 ? 0.2 : 0.8) + noise(i)))).toMatch(/^rose at step 21, /);
    expect(textOf(values(40, (i) => 0.2 + 0.015 * i + noise(i)))).toMatch(/^rose little by little, half /);
  });

  it('is none that the last entry alone shows, or between levels that are printed alike', () => {
    const { beyond } = new MetricCourse(points([...swing(0.1, 15), 9])).shift;
    expect(beyond).toBe(0);
    expect(new MetricCourse(points(values(20, (i) => (i < 10 ? 0.56702 : 0.56704)))).shift.beyond).toBe(0);
    expect(breakOf(new MetricCourse(points([0.4, 0.4, 9.5])))).toMatchObject({ isLast: true });
    expect(textOf([0.4, 0.4, 9.5])).toBe('');
  });

  it('is not within the noise where a straight line surely rises', () => {
    const drift = values(14, (i) => 0.4 + 0.01 * i + noise(4 * i));
    const course = new RunCourse(seriesOf({ metrics: { reward: drift } }));
    expect(course.of('reward')!.direction).toBe('rises');
    expect(rowText({ ...courseRows(course)[0]!, movement: undefined as never })[2]).toBe(
      'rises along a straight line only',
    );
    expect(textOf(values(40, noise))).toBe('within the noise of both');
  });
});

describe('rows of a short log', () => {
  const textsOf = (metrics: Record<string, (number | undefined)[]>) =>
    courseRows(new RunCourse(seriesOf({ metrics }))).map((row) => rowText(row).join('  ').trim());

  it('tell the value beyond both ends, what never changes, and what else changes its size', () => {
    expect(
      textsOf({
        reward: [0.77, 0.94, 0.59, 0.31],
        'kl/old': [0.001, 0.001, 0.119, 0.075],
        'rewards/format/mean': [0, 0, 0, 0],
        'rewards/accuracy/mean': [0.5, 0.6, 0.55, 0.45],
        'tool_call/mean': [0.012, 0.01, 0, 0],
        'clip_ratio/low_mean': [0.001, 0.1, 0, 0],
        temperature: [1, 1, 1, 1],
      }),
    ).toEqual([
      'reward  0.77 → 0.31  up to 0.94 at step 2',
      'accuracy  0.5 → 0.45  up to 0.6 at step 2',
      'format  0 → 0  the same at each entry',
      'kl/old  0.001 → 0.075  up to 0.119 at step 3',
      'tool_call/mean  0.012 → 0',
    ]);
  });

  it('leave a long log to its noise', () => {
    const texts = textsOf({ reward: swing(0.5, 20), 'tool_call/mean': [...swing(1, 10), ...swing(0, 10)] });
    expect(texts).toHaveLength(1);
    expect(texts[0]).toContain('within the noise');
  });
});

it('one entry at either end of a short run is no level', () => {
  const { start, end, shift } = new MetricCourse(
    points([0.06, 0.19, 0.4, 0.4, 0.9, 0.9, 0.1, 0.06, 0.06, 0.8]),
  );
  expect([start, end]).toEqual([expect.closeTo(0.125), expect.closeTo(0.43)]);
  expect(shift.beyond).toBeLessThan(3);
});

describe('breakOf', () => {
  it('splits a short log where its sides lie farthest apart', () => {
    const found = breakOf(new MetricCourse(points([4, 0.03, 0.026, 0.037]), 1e-4))!;
    expect(found).toMatchObject({ from: 4, to: 0.03, step: 2, near: { from: 4, to: 0.037 }, isShown: false });
    expect(isTimes(found, 4)).toBe(true);
  });
  it('takes the ends of a steady change, whose neighbours are near to each other', () => {
    const found = breakOf(new MetricCourse(points([1, 2, 4, 8, 16]), 1))!;
    expect(found).toMatchObject({ from: 1, to: 16, isSteady: true, isShown: true });
    expect([isTimes(found, 16), isTimes(found, 17)]).toEqual([true, false]);
  });
  it('does not call a change many times whose sides nearly meet', () => {
    const found = { from: 0.5, to: 2.1, step: 4, near: { from: 0.9, to: 1.7 }, isShown: true, isLast: false };
    expect(isTimes({ ...found, isSteady: false }, 4)).toBe(false);
    expect(isTimes({ ...found, isSteady: true }, 4)).toBe(true);
  });
  it('finds none where sides overlap, or the noise of a longer log is known', () => {
    expect(breakOf(new MetricCourse(points([1, 5, 1]), 1))).toBeUndefined();
    expect(breakOf(new MetricCourse(points(Array.from({ length: 16 }, (_, i) => i)), 1))).toBeUndefined();
  });
  it('does not call a change large whose sides nearly meet', () => {
    const found = breakOf(new MetricCourse(points([0, 0.35, 0.45, 0.8])))!;
    expect([isBy(found, 0.3), isBy({ ...found, near: { from: 0.4, to: 0.5 } }, 0.3)]).toEqual([true, false]);
  });
});

it('rows of a short log give zeros as they are, and the step of a break', () => {
  const course = new RunCourse(seriesOf({ metrics: { grad_norm: [0.3, 0.1, 0], entropy: [0.4, 9.4, 9.5] } }));
  const texts = courseRows(course).map((row) => rowText(row).join(' '));
  expect(texts).toEqual(
    expect.arrayContaining(['entropy 0.4 → 9.5 rose at step 2', expect.stringMatching(/norm 0\.3 → 0 /)]),
  );
});
