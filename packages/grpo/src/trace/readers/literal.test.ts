import { describe, expect, it } from 'vitest';
import { cutOffDict, dictsIn, literal } from './literal.js';

describe('literal', () => {
  it.each<[string, unknown]>([
    ['{\'a\': 1, "b": [True, None, (1, 2)]}', { a: 1, b: [true, null, [1, 2]] }],
    ["{'x': nan, 'y': -inf, 'z': 1_000, 'w': -.5e-3}", { x: Number.NaN, y: -Infinity, z: 1000, w: -0.0005 }],
    ['{"x": NaN, "y": -Infinity}', { x: Number.NaN, y: -Infinity }],
    ["{'l': tensor(0.25, device='cuda:0'), 'm': np.float64(2.5)}", { l: 0.25, m: 2.5 }],
    ["{'it\\'s': 'a\\nb\\u00e9'}", { "it's": 'a\nbé' }],
  ])('reads %s', (text, value) => {
    expect(literal(text)).toEqual(value);
  });

  it.each(["{'a': }", "{'a': 1", 'import os', '{1: open("x")}x', '['.repeat(200)])(
    'takes %s for none',
    (text) => {
      expect(literal(text)).toBeUndefined();
    },
  );

  it('finds dicts among other text, and half a one in the end', () => {
    expect(dictsIn("x {'a': 1} {not} {'b': 2}{'c': 3} y")).toEqual({
      dicts: [{ a: 1 }, { b: 2 }, { c: 3 }],
    });
    expect(dictsIn("{'a': 1} {'b': 2, 'c")).toEqual({ dicts: [{ a: 1 }], cut: { b: 2 } });
  });

  it('makes no prototype of a key', () => {
    const value = literal("{'__proto__': {'polluted': 1}}") as object;
    expect(Object.keys(value)).toEqual(['__proto__']);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

it('what is whole of a dict that is cut off is known, but no number at the cut', () => {
  expect(cutOffDict("{'a': 1, 'b': {'c': 2}, 'd': 0.71")).toEqual({ a: 1, b: { c: 2 } });
  expect(cutOffDict("{'a': 1, 'b' 2}")).toBeUndefined();
  expect(cutOffDict("{'a': 1}")).toBeUndefined();
});
