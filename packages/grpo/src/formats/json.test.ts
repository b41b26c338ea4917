import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FormatError } from '../errors/format-error.js';
import { describeJson, parseJsonObject, recordable } from './json.js';

const parse = (text: string) => parseJsonObject('f.json', 'the header', Buffer.from(text));

describe('recordable', () => {
  it('is JSON as it was', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(recordable(value)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('keeps of other values what JSON can hold', () => {
    const parent = { name: 'p', children: [] as object[] };
    const shared = { a: 1 };
    parent.children.push({ parent, shared }, shared);
    expect(recordable(parent)).toEqual({
      name: 'p',
      children: [{ parent: '[cycle]', shared: { a: 1 } }, { a: 1 }],
    });
    const odd = {
      id: 2n ** 60n,
      when: new Date(0),
      ids: Int32Array.of(1, 2),
      gap: Number.NaN,
      far: BigInt64Array.of(3n),
    };
    expect(recordable(odd)).toEqual({
      id: '1152921504606846976',
      when: '1970-01-01T00:00:00.000Z',
      ids: [1, 2],
      gap: 'NaN',
      far: ['3'],
    });
    expect(recordable(undefined)).toBeNull();
    expect(recordable({ a: [1, 2, 3], b: 1 }, 3)).toEqual({ a: '[left out]', b: 1 });
    let deep: unknown = 1;
    for (let i = 0; i < 5000; i++) deep = [deep];
    expect(JSON.stringify(recordable(deep))).toContain('left out');
  });
});

describe('parseJsonObject', () => {
  it('agrees with JSON.parse on any object without duplicates', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()),
        fc.nat(3),
        (value, indent) => {
          const text = JSON.stringify(value, null, indent);
          expect(parse(text)).toEqual(JSON.parse(text));
        },
      ),
    );
  });

  it.each([
    ['at the top', '{"a":1,"b":2,"a":3}', '"a"'],
    ['inside', '{"x":[{"k":1},{"k":2,\n"k" \t:3}]}', '"k"'],
    ['escaped', '{"a":1,"\\u0061":2}', '"a"'],
    ['with quotes in it', '{"\\"":1, "\\"":2}', '"\\""'],
    ['of a prototype', '{"__proto__":1,"__proto__":2}', '"__proto__"'],
  ])('finds a duplicate key %s', (_, text, key) => {
    expect(() => parse(text)).toThrow(`f.json: the header names ${JSON.stringify(JSON.parse(key))} twice`);
  });

  it('is not misled by values that look like keys', () => {
    expect(parse('{"a":"a","b":["a","{","\\"b\\":"],"c":{"a":1},"d":{"a":2}}')).toMatchObject({ a: 'a' });
  });

  it.each([
    ['[1]', /must be a JSON object, found/],
    ['null', /must be a JSON object/],
    ['{"a":}', /not valid JSON.*it begins/],
    ['', /not valid JSON/],
  ])('refuses %j', (text, message) => {
    expect(() => parse(text)).toThrow(FormatError);
    expect(() => parse(text)).toThrow(message);
  });

  it.each([
    ['{\n  "a": 1,\n  "b" 2\n}', 'at line 3, column 7'],
    [`{\n"a": ${'1'.repeat(30)},\n"some key": NaN, "other": 1}`, "Unexpected token 'N' at line 3, column 13"],
    [`{"a": ${'1'.repeat(30)}, "some key": NaN, "other": 1}`, "Unexpected token 'N' at column 51; it begins"],
    ['  ', 'the header is not valid JSON: it is empty'],
  ])('says where %j is wrong', (text, message) => {
    expect(() => parse(text)).toThrow(message);
  });

  it('takes a byte order mark', () => {
    expect(parse('\uFEFF{"a":1}')).toEqual({ a: 1 });
  });

  it('refuses bytes that are not UTF-8', () => {
    const bytes = Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d);
    expect(() => parseJsonObject('f', 'the header', bytes)).toThrow(
      'f: the header is not valid UTF-8: line 1, byte 3 is 0xff',
    );
  });

  it('puts no control character of the text into the message', () => {
    expect(() => parse('{"a": \x1b[31m}')).toThrow(/^[^\p{Cc}]*$/u);
  });
});

describe('a text that would fill the memory', () => {
  it.each(['{"a":[', '{"a":{'])(
    'of five million values, as in %s, is refused before it is parsed',
    (start) => {
      const text = `${start}${start.endsWith('[') ? '{},'.repeat(5e6) : '"":0,'.repeat(5e6)}`;
      expect(() => parse(text)).toThrow(
        'f.json: the header has more than 4 million values; is it the right file?',
      );
    },
  );

  it('may be long otherwise', () => {
    expect(parse(`{"a":"${'x'.repeat(1e7)}"}`)).toHaveProperty('a');
  });
});

describe('shown', () => {
  it('is short for any value, however deep', () => {
    const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000));
    expect(describeJson(deep)).toBe('a nested array');
    expect(describeJson([1, 'a', null])).toBe('[1, "a", null]');
    expect(describeJson(new Array(99).fill(0))).toBe('an array of 99 values');
    expect(describeJson('x'.repeat(200))).toBe(`"${'x'.repeat(80)}"…`);
    expect(describeJson(undefined)).toBe('nothing');
  });
});
