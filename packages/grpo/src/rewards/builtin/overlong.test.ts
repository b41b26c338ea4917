import { describe, expect, it } from 'vitest';
import { type RewardTable, totals } from '../reward-table.js';
import { overlongPunishment, withOverlong } from './overlong.js';

const HUNDRED = { maxTokens: 100, buffer: 20 };

const table: RewardTable = {
  names: ['right'],
  weights: [2],
  columns: [Float64Array.of(1, 0, 1, Number.NaN)],
  unscored: Uint8Array.of(0, 0, 0, 1),
  failures: [],
};

describe('the punishment of long completions', () => {
  it.each([
    // TRL's own three.
    [50, 0],
    [90, -0.5],
    [110, -1],
    // The ends of both ranges.
    [80, 0],
    [81, -0.05],
    [99, -0.95],
    [100, -1],
  ])('of %i tokens is %d', (length, reward) => {
    expect(overlongPunishment(length, HUNDRED)).toBeCloseTo(reward, 12);
  });

  it('is a reward of its own in the total', () => {
    const both = withOverlong(table, [50, 90, 110, 50], HUNDRED);
    expect([both.names, both.weights]).toEqual([
      ['right', 'overlong'],
      [2, 1],
    ]);
    expect([...both.columns[1]!]).toEqual([0, -0.5, -1, 0]);
    // A completion whose own reward failed has no total still.
    expect([...totals(both)]).toEqual([2, -0.5, 1, Number.NaN]);
    expect(table.names).toEqual(['right']);
  });

  it('is refused beside another reward of its name', () => {
    const taken = { ...table, names: ['overlong'] };
    expect(() => withOverlong(taken, [1, 2, 3, 4], HUNDRED)).toThrow(/two rewards are named overlong/);
  });
});
