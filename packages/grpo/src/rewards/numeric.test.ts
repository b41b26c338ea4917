import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { goldAnswer, gradeNumeric, parseDecimal } from './numeric.js';

describe('parseDecimal', () => {
  it.each([
    ['72', '72'],
    [' 72\n', '72'],
    ['72.', '72'],
    ['1,000', '1000'],
    ['12,345,678.90', '12345678.9'],
    ['7.0', '7'],
    ['7.50.', '7.5'],
    ['.5', '0.5'],
    ['-.5', '-0.5'],
    ['−5', '-5'],
    ['+5', '5'],
    ['-0.00', '0'],
    ['007', '7'],
    ['$18', '18'],
    ['-$18', '-18'],
    ['$-18.00', '-18'],
    ['€1,234.5', '1234.5'],
    [
      '123456789012345678901234567890.000000000000000000001',
      '123456789012345678901234567890.000000000000000000001',
    ],
  ])('reads %j as %s', (text, number) => {
    expect(parseDecimal(text)).toBe(number);
  });

  it.each([
    '',
    ' ',
    '.',
    '-',
    '$',
    'seven',
    '7 apples',
    'x=7',
    '7 8',
    '50%',
    '1/2',
    '1e3',
    '0x10',
    '1,00',
    '1,0000',
    ',100',
    '1,000,',
    '1.2.3',
    '7..',
    '--5',
    '-$-5',
    'Infinity',
    'NaN',
    '#### 5',
    '٧',
    '5\n6',
  ])('does not read %j', (text) => {
    expect(parseDecimal(text)).toBeNull();
  });

  it('gives equal strings exactly to equal numbers', () => {
    const decimal = fc.record({ negative: fc.boolean(), units: fc.bigInt(0n, 10n ** 30n), scale: fc.nat(6) });
    const write = (units: bigint, scale: number) => {
      const digits = String(units).padStart(scale + 1, '0');
      return `${digits.slice(0, digits.length - scale)}.${digits.slice(digits.length - scale)}`;
    };
    fc.assert(
      fc.property(decimal, decimal, (a, b) => {
        const signed = (x: typeof a) => (x.negative ? -x.units : x.units) * 10n ** BigInt(6 - x.scale);
        const read = (x: typeof a) =>
          parseDecimal((x.negative ? '-' : '') + write(x.units, x.scale).replace(/\.$/, ''));
        expect(read(a) === read(b)).toBe(signed(a) === signed(b));
        // The same number with zeros added at both ends.
        expect(parseDecimal(`${a.negative ? '−' : '+'}00${write(a.units * 100n, a.scale + 2)}`)).toBe(
          read(a),
        );
      }),
    );
  });

  it('takes linear time on hostile text', () => {
    for (const text of [
      '0'.repeat(1e6),
      `1${',000'.repeat(3e5)}x`,
      `1.${'0'.repeat(1e6)}1`,
      `0.${'0'.repeat(1e6)}`,
    ]) {
      parseDecimal(text);
    }
    expect(parseDecimal(`0.${'0'.repeat(1e6)}`)).toBe('0');
  });
});

describe('goldAnswer', () => {
  it('is what follows the last ####, or everything', () => {
    expect(goldAnswer('48/2 = <<48/2=24>>24\n#### 72')).toBe('72');
    expect(goldAnswer('#### 1\n#### 2,000 ')).toBe('2,000');
    expect(goldAnswer(' 42 ')).toBe('42');
    expect(goldAnswer('')).toBe('');
  });
});

describe('gradeNumeric', () => {
  it.each([
    ['1000', 'so he has $1,000.\n#### 1,000', true, 'equal'],
    ['7.0', '7', true, 'equal'],
    ['0.3', '0.30000000000000004', false, 'different'],
    ['9007199254740993', '9007199254740992', false, 'different'],
    ['', '72', false, 'answer not a number'],
    ['72 73 74', '72', false, 'answer not a number'],
    ['', '', false, 'gold not a number'],
    ['x', 'x', false, 'gold not a number'],
  ] as const)('grades %j against %j: %s, %s', (answer, gold, correct, rule) => {
    expect(gradeNumeric(answer, gold)).toMatchObject({ correct, rule });
  });
});
