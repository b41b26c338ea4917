import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FormatError } from '../../errors/format-error.js';
import { parseHeader } from './header.js';

const parse = (header: unknown, dataBytes: number) =>
  parseHeader('m', Buffer.from(typeof header === 'string' ? header : JSON.stringify(header)), dataBytes);
const tensor = (dtype: unknown, shape: unknown, ...data_offsets: unknown[]) => ({
  dtype,
  shape,
  data_offsets,
});

describe('parseHeader', () => {
  it('gives the tensors in the order of their data, whatever the order of the keys', () => {
    const { tensors, metadata } = parse(
      {
        b: tensor('F16', [2, 2], 4, 12),
        __metadata__: { format: 'pt' },
        a: tensor('U8', [4], 0, 4),
        7: tensor('BOOL', [0], 12, 12),
      },
      12,
    );
    expect([...tensors.keys()]).toEqual(['a', 'b', '7']);
    expect(tensors.get('b')).toEqual({ dtype: 'F16', shape: [2, 2], begin: 4, end: 12 });
    expect(metadata).toEqual({ format: 'pt' });
  });

  it('takes a scalar, an empty tensor, no tensor, and a tensor of an odd name', () => {
    expect(parse({ s: tensor('F64', [], 0, 8), e: tensor('I8', [3, 0], 8, 8) }, 8).tensors.size).toBe(2);
    expect(parse({}, 0)).toEqual({ tensors: new Map(), metadata: {} });
    const odd = parse('{"__proto__":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}', 1);
    expect(odd.tensors.has('__proto__')).toBe(true);
  });

  // Python's library refuses these numbers; they are the same whole numbers.
  it.each(['2.0', '2e0', '20e-1'])('takes the size %s as the whole number that it is', (size) => {
    const { tensors } = parse(`{"w":{"dtype":"U8","shape":[${size}],"data_offsets":[-0,2]}}`, 2);
    expect(tensors.get('w')?.shape).toEqual([2]);
  });

  it.each([
    ['unknown dtype', { w: tensor('F8_E4M3', [1], 0, 1) }, 1, 'unknown dtype "F8_E4M3"; known are F64, F32'],
    ['dtype of a prototype', { w: tensor('toString', [1], 0, 1) }, 1, 'unknown dtype "toString"'],
    ['no dtype', { w: { shape: [1], data_offsets: [0, 1] } }, 1, 'unknown dtype nothing'],
    ['no object', { w: 3 }, 0, 'must be an object with dtype, shape, data_offsets; found 3'],
    ['negative size', { w: tensor('U8', [-1], 0, 1) }, 1, 'integers ≥ 0, found [-1]'],
    ['broken size', { w: tensor('U8', [1.5], 0, 1) }, 1, 'integers ≥ 0, found [1.5]'],
    ['text as size', { w: tensor('U8', ['1'], 0, 1) }, 1, 'integers ≥ 0, found ["1"]'],
    [
      'too many elements',
      { w: tensor('U8', [2 ** 50, 2 ** 50], 0, 1) },
      1,
      'more elements than a file can hold',
    ],
    ['one offset', { w: tensor('U8', [1], 0) }, 1, 'two integers ≥ 0, found [0]'],
    ['offsets swapped', { w: tensor('U8', [1], 1, 0) }, 1, 'takes 1 bytes, but data_offsets [1, 0] hold -1'],
    ['offsets of another size', { w: tensor('F32', [2, 3], 0, 20) }, 20, 'F32 [2, 3] takes 24 bytes'],
    ['beyond the file', { w: tensor('F32', [2], 0, 8) }, 7, 'ends at byte 8, but the file has only 7 bytes'],
    [
      'gap',
      { v: tensor('U8', [1], 0, 1), w: tensor('U8', [1], 2, 3) },
      3,
      'byte 2, but the data before it ends at 1: there is a gap',
    ],
    [
      'overlap',
      { v: tensor('U8', [2], 0, 2), w: tensor('U8', [2], 1, 3) },
      3,
      'byte 1, but the data before it ends at 2: they overlap',
    ],
  ])('refuses a tensor with %s', (_, header, dataBytes, message) => {
    expect(() => parse(header, dataBytes)).toThrow(FormatError);
    expect(() => parse(header, dataBytes)).toThrow('m: tensor "w": ');
    expect(() => parse(header, dataBytes)).toThrow(message);
  });

  it.each([
    [
      'bytes of no tensor',
      { w: tensor('U8', [1], 0, 1) },
      3,
      '2 bytes after the last tensor belong to no tensor',
    ],
    ['metadata that is no object', { __metadata__: 'pt' }, 0, 'must be an object of strings, found "pt"'],
    ['metadata that is no string', { __metadata__: { a: 1 } }, 0, '"a" must be a string, found 1'],
    ['half a surrogate pair', '{"__metadata__":{"a":"\\ud800"}}', 0, 'half a surrogate pair in "\\ud800"'],
    ['a name twice', '{"w":1,"w":2}', 0, 'm: the header names "w" twice'],
    [
      'a deep shape',
      `{"w":{"dtype":"U8","shape":${'['.repeat(1e5)}${']'.repeat(1e5)}}}`,
      0,
      'the header is nested more than 100 deep',
    ],
  ])('refuses %s', (_, header, dataBytes, message) => {
    expect(() => parse(header, dataBytes)).toThrow(FormatError);
    expect(() => parse(header, dataBytes)).toThrow(message);
  });

  it('whatever is damaged, either raises FormatError or gives tensors that fill the data', () => {
    const valid = JSON.stringify({
      __metadata__: { format: 'pt' },
      'h.0.weight': tensor('F32', [2, 3], 0, 24),
      'h.0.bias': tensor('BF16', [4], 24, 32),
      scalar: tensor('I64', [], 32, 40),
    });
    const damage = fc.record({
      at: fc.nat(valid.length),
      cut: fc.nat(3),
      // Bytes that matter to the format, and any byte.
      put: fc.array(fc.oneof(fc.constantFrom(...Buffer.from('{}[]",:0189-eF')), fc.nat(255)), {
        maxLength: 3,
      }),
    });
    const outcomes = { refused: 0, read: 0 };
    fc.assert(
      fc.property(fc.array(damage, { minLength: 1, maxLength: 3 }), (damages) => {
        let bytes = Buffer.from(valid);
        for (const { at, cut, put } of damages) {
          bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from(put), bytes.subarray(at + cut)]);
        }
        try {
          const { tensors } = parseHeader('m', bytes, 40);
          const total = [...tensors.values()].reduce((sum, { begin, end }) => sum + end - begin, 0);
          expect(total).toBe(40);
          outcomes.read++;
        } catch (error) {
          if (!(error instanceof FormatError)) throw error;
          outcomes.refused++;
        }
      }),
      { numRuns: 2000 },
    );
    expect(outcomes.refused).toBeGreaterThan(500);
    expect(outcomes.read).toBeGreaterThan(20);
  });
});
