import { describe, expect, it } from 'vitest';
import { breakOf, lossOf } from './break.js';
import { MetricCourse } from './metric-course.js';

const breakIn = (values: readonly number[], floor?: number) =>
  breakOf(
    new MetricCourse(
      values.map((value, i) => ({ step: i + 1, value })),
      floor,
    ),
  );

describe('a change in a log of a few entries', () => {
  it('is from the first to the last of five in order', () => {
    expect(breakIn([1, 2, 3, 4, 5], 1)).toMatchObject({ isSteady: true, from: 1, to: 5 });
    expect(breakIn([1, 2, 4, 3, 5], 1)).toMatchObject({ isSteady: false });
  });

  it('begins where most entries of both sides show it', () => {
    const ramp = [0.019, 0, 0.019, 0.094, 0.463, 0.869];
    expect(breakIn(ramp)).toMatchObject({ step: 5, isShown: true, from: 0.019, to: 0.666 });
  });

  it('is so of four in order only where the last is ten times the first', () => {
    expect(breakIn([1539, 482, 380, 15.6], 1)).toMatchObject({ isSteady: true, isShown: true, to: 15.6 });
    expect(breakIn([1539, 482, 380, 170], 1)).toMatchObject({ isSteady: false, isShown: false });
    expect(breakIn([1539, 482, 490, 15.6], 1)).toMatchObject({ isSteady: false });
    // Shares are judged by their difference, and have no ratio.
    expect(breakIn([1, 6, 12, 40])).toMatchObject({ isSteady: false });
  });
});

describe('a reward that lost most of what it had', () => {
  it('did so where all are nearer to the end than to the best', () => {
    const points = [0.768, 0.936, 0.592, 0.257, 0.435, 0.308].map((value, i) => ({ step: 10 * i, value }));
    expect(lossOf(points, 0.65)).toMatchObject({ from: 0.936, step: 20 });
  });
});
