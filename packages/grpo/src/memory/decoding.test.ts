import { describe, expect, it } from 'vitest';
import { cacheBytes, logitsBytes, passTokenBytes, prefillParts, rowsWithin } from './decoding.js';
import { config, engine, rows } from './lots.test.helper.js';

const count = (lotBytes: number, { adjusted = false, most = 6 } = {}) =>
  rowsWithin(config, engine, rows, { lotBytes, adjusted, most });

describe('rows that are decoded together', () => {
  it('are as many as their cache and logits fit', () => {
    // A token of the cache: two layers, keys and values, two heads of 16 numbers.
    const token = 2 * 2 * 2 * 16 * 4;
    const logits = logitsBytes(config, engine, false);
    const two = token * (16 + 2 * 16) + 2 * logits;
    expect(count(two)).toBe(2);
    expect(count(two - 1)).toBe(1);
    // The second prompt's 20 tokens are two blocks, and the first then has as many.
    const three = token * (2 * 32 + 3 * 16) + 3 * logits;
    expect(count(three)).toBe(3);
    expect(count(three - 1)).toBe(2);
  });

  it('are at least one, at most as many as are wanted, and fewer where the draw takes more', () => {
    expect(count(0)).toBe(1);
    expect(count(1e9)).toBe(6);
    expect(count(1e9, { most: 4 })).toBe(4);
    expect(count(3e5, { adjusted: true })).toBeLessThan(count(3e5));
  });
});

it('counts places without a row, and the copy of a smaller one, in the cache of other devices', () => {
  const lot = { prompts: 3, longest: 30, rows: 4, mostPerPrompt: 2, newTokens: 16 };
  const token = 2 * 2 * 2 * 16 * 4;
  expect(cacheBytes(config, { size: 4, fuses: false }, lot)).toBe(1.75 * token * (3 * 30 + 3 * 2 * 16));
});

it('cuts prompts into parts that take a quarter of the lot, and none apart', () => {
  const lotBytes = 4 * 50 * passTokenBytes(config, engine);
  expect(prefillParts(config, engine, [20, 30, 1, 60, 10], lotBytes)).toEqual([
    { from: 0, to: 2 },
    { from: 2, to: 3 },
    { from: 3, to: 4 },
    { from: 4, to: 5 },
  ]);
});
