import { describe, expect, it } from 'vitest';
import { isUtf8, lineChart } from './chart.js';

describe('lineChart', () => {
  it('draws a rising line in ASCII', () => {
    const chart = lineChart([0, 1, 2, 3], { width: 14, height: 5, unicode: false });
    expect(chart).toBe(['3.00|   *', '    |  *', '    | *', '0.00|*', '     step 1 4'].join('\n'));
  });

  it('draws the same line as braille dots', () => {
    // Two columns and four rows of dots a character: dots 7 and 6, then 5 and 4 (in Unicode’s numbering 7, 6, 2, 4).
    const chart = lineChart([0, 1, 2, 3], { width: 12, height: 2, unicode: true });
    expect(chart.split('\n')[0]).toBe(
      `3.00│${String.fromCharCode(0x2800 + 0x40 + 0x20, 0x2800 + 0x02 + 0x08)}`,
    );
  });

  it('fits the width, averaging what is too much', () => {
    const series = Array.from({ length: 1000 }, (_, i) => i);
    for (const unicode of [true, false]) {
      const lines = lineChart(series, { width: 40, height: 6, unicode }).split('\n');
      expect(lines).toHaveLength(6);
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(40);
      expect(lines[0]).toMatch(/^ 9[89]\d/);
    }
  });

  it('stays within the width when averages have longer labels than the values', () => {
    const series = Array.from({ length: 3000 }, (_, i) => (i % 97 === 0 ? -1e-4 : 0));
    for (const line of lineChart(series, { width: 30, unicode: false }).split('\n')) {
      expect(line.length).toBeLessThanOrEqual(30);
    }
  });

  it('draws a short series wider', () => {
    const lines = lineChart([0, 4], { width: 15, height: 6, unicode: false }).split('\n');
    expect(lines.slice(0, 5).map((row) => row.slice(5))).toEqual(['    *', '   *', '  *', ' *', '*']);
  });

  it('leaves gaps for what is no number', () => {
    const [line] = lineChart([1, Number.NaN, 1], { width: 13, height: 2, unicode: false }).split('\n');
    expect(line).toBe('1.00|* *');
    expect(lineChart([Number.NaN])).toBe('(nothing to draw yet)');
    expect(lineChart([])).toBe('(nothing to draw yet)');
  });

  it('puts a constant series in the middle', () => {
    for (const unicode of [true, false]) {
      const lines = lineChart([2, 2], { width: 20, height: 4, unicode }).split('\n');
      expect(lines.map((line) => /^2\.00.\S+$/.test(line))).toEqual([false, true, false, false]);
    }
  });

  it('joins steep steps', () => {
    const lines = lineChart([0, 3], { width: 12, height: 5, unicode: false }).split('\n');
    expect(lines.slice(0, 4).map((row) => row.slice(5))).toEqual([' *', ' *', ' *', '*']);
  });
});

describe('isUtf8', () => {
  it('follows the order of the C library', () => {
    expect(isUtf8({ LANG: 'en_US.UTF-8' })).toBe(true);
    expect(isUtf8({ LANG: 'en_US.UTF-8', LC_ALL: 'C' })).toBe(false);
    expect(isUtf8({ LC_ALL: '', LC_CTYPE: 'C.utf8' })).toBe(true);
    expect(isUtf8({})).toBe(false);
  });
});
