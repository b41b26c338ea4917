import { describe, expect, it } from 'vitest';
import { logitsBytes, passTokenBytes } from './decoding.js';
import { denoisingBytes, logitRows, sequencesWithin } from './denoising.js';
import { config, engine, rows } from './lots.test.helper.js';

const token = passTokenBytes(config, engine);

const count = (lotBytes: number, most = 6) => sequencesWithin(config, engine, rows, { lotBytes, most });

describe('completions that are denoised together', () => {
  it('are as many as fit into three quarters of the lot with their prompts, none of which is shared', () => {
    const three = Math.ceil(((26 + 26 + 36) * token * 4) / 3);
    expect(count(three)).toBe(3);
    expect(count(three - 4)).toBe(2);
  });

  it('are at least one, and at most as many as are wanted', () => {
    expect(count(0)).toBe(1);
    expect(count(1e9)).toBe(6);
    expect(count(1e9, 4)).toBe(4);
  });
});

describe('rows of logits', () => {
  it('take a quarter of the lot, and fewer are drawn from at once where the draw takes more', () => {
    const row = logitsBytes(config, engine, false);
    expect(logitRows(config, engine, 400 * row, false)).toBe(100);
    expect(logitRows(config, engine, 400 * row, true)).toBeLessThan(100);
    expect(logitRows(config, engine, 0, false)).toBe(1);
  });

  it('are never more than make a product faster', () => {
    expect(logitRows(config, engine, 1e12, false)).toBe(2048);
  });
});

describe('the bytes of a lot', () => {
  const completions = { count: 6, sequence: 46, newTokens: 16, adjusted: false };
  const row = logitsBytes(config, engine, false);

  it('are those of all completions and of all their places, where the lot has room', () => {
    expect(denoisingBytes(config, engine, completions, 1e9)).toEqual({
      sequences: 6 * 46 * token,
      logits: 6 * 16 * row,
    });
  });

  it('are those of the lot where it is small, and of one completion where it is smaller', () => {
    const lot = 200 * token;
    expect(denoisingBytes(config, engine, completions, lot)).toEqual({
      sequences: 150 * token,
      logits: Math.floor((50 * token) / row) * row,
    });
    expect(denoisingBytes(config, engine, completions, 0)).toEqual({ sequences: 46 * token, logits: row });
  });
});
