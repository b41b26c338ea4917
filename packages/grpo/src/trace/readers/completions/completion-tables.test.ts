import { describe, expect, it } from 'vitest';
import { isOfTrl } from './completion-tables.js';

describe('a table of completions', () => {
  it('is TRL’s, whose other columns are all rewards, where it has each of its columns', () => {
    const row = { step: 1, prompt: 'a', completion: 'b', advantage: 0.5, right: 1 };
    expect(isOfTrl(row)).toBe(true);
    const { advantage: _, ...others } = row;
    expect(isOfTrl({ ...others, reward: 1, length: 20, epoch: 1 })).toBe(false);
  });
});
