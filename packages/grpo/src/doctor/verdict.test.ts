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

  it('is enough where the reward rises for good, and not where it falls back', () => {
    const risen = (i: number) => 0.2 + 0.02 * i + noise(i);
    expect(verdictOf(diagnosisOf(20, 1, risen))).toBe('nothing found');
    const back = (i: number) => (i > 4 && i < 12 ? 0.5 : 0.35) + noise(i);
    expect(verdictOf(diagnosisOf(20, 1, back))).toBe('too little to judge');
  });

  it('names the range of a reward whose noise hides everything', () => {
    const wild = (i: number) => (i % 2 ? 3.5 : 1.2);
    expect(littleOf(diagnosisOf(10, 1, wild))).toMatch(
      /between 1\.2 and 3\.5: so few entries do not tell a change of this size/,
    );
    expect(littleOf(diagnosisOf(14, 1, (i) => 0.4 + 0.002 * i + noise(i) / 9))).toMatch(
      / or more would have stood out|by more than its noise/,
    );
  });
});
