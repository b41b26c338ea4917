import { describe, expect, it } from 'vitest';
import type { MetricsEntry } from '../trace/index.js';
import { examine } from './examine.js';
import { registry } from './registry.js';
import { littleOf, verdictOf } from './verdict.js';

/** A log with a reward at every so many steps. */
const diagnosisOf = (count: number, every: number, reward: (i: number) => number) => {
  const entries = Array.from(
    { length: count },
    (_, i): MetricsEntry => ({
      step: 1 + every * i,
      values: { reward: reward(i) },
    }),
  );
  return examine({ series: { entries, producer: { name: 'test' } } }, registry);
};
const noise = (i: number) => 0.02 * Math.sin(1.7 * i * i);

describe('a log', () => {
  it('is enough where its entries span a long run whose reward does not stand still', () => {
    const high = (i: number) => 0.9 + noise(i);
    expect(verdictOf(diagnosisOf(20, 10, high))).toBe('nothing found');
    expect(verdictOf(diagnosisOf(20, 1, high))).toBe('too little to judge');
    expect(verdictOf(diagnosisOf(10, 20, high))).toBe('too little to judge');
    expect(verdictOf(diagnosisOf(20, 10, (i) => 0.2 + noise(i)))).toBe('too little to judge');
  });

  it('has a line over its printed steps', () => {
    const steps = [1, 2, 3, 4, 5, 6, 7, 8, 100, 200];
    const entries = steps.map(
      (step, i): MetricsEntry => ({ step, values: { reward: step / 400 + noise(i) } }),
    );
    const few = littleOf(examine({ series: { entries, producer: { name: 'test' } } }, registry));
    expect(few).toMatch(/rises so far: .* to 0\.(?:49|5)\d*, /);
  });

  it('is enough where the reward rises for good, and not where it falls back', () => {
    const risen = (i: number) => 0.2 + 0.02 * i + noise(i);
    expect(verdictOf(diagnosisOf(20, 1, risen))).toBe('nothing found');
    const back = (i: number) => (i > 4 && i < 12 ? 0.5 : 0.35) + noise(i);
    expect(verdictOf(diagnosisOf(20, 1, back))).toBe('too little to judge');
  });

  it.each([
    [
      'hides everything',
      10,
      (i: number) => (i % 2 ? 3.5 : 1.2),
      /between 1\.2 and 3\.5, and their noise hides/,
    ],
    [
      'rises',
      14,
      (i: number) => 0.4 + 0.01 * i + noise(i),
      /rises so far: .* from 0\.4\d* to 0\.5\d*, a gain of 0\.0\d+ at least/,
    ],
    [
      'rises at once and falls from there',
      40,
      (i: number) => (i < 8 ? 0.1 : 1 - 0.02 * i) + noise(i) / 4,
      /The reward rose from 0\.1\d* to 0\.2\d* at step 9; a straight line/,
    ],
    ['falls', 14, (i: number) => 0.4 - 0.01 * i + noise(i), /falls so far: .*, a loss of 0\.\d+ at least/],
    [
      'stands still',
      40,
      (i: number) => 0.4 + noise(i),
      /does not rise so far: .* a gain of more than 0\.0\d+ is excluded/,
    ],
    [
      'stands high',
      40,
      (i: number) => 0.85 + 5 * noise(i),
      /high from the start, so little is left to learn: .* from 0\.8/,
    ],
  ])('says how far its noise lets one tell where it %s', (_, count, reward, says) => {
    expect(littleOf(diagnosisOf(count, 1, reward))).toMatch(says);
  });
});
