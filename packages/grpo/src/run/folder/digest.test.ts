import { expect, it } from 'vitest';
import { digestOf } from './digest.js';

it.each([
  ['the order of keys', { a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 }],
  ['keys without a value', { a: 1, b: undefined }, { a: 1 }],
  ['kinds of typed arrays', Float32Array.of(0.5, Number.NaN), Float64Array.of(0.5, Number.NaN)],
  ['bit patterns of NaN', new Float32Array(Uint32Array.of(0xffc00000).buffer), Float32Array.of(Number.NaN)],
  ['bytes and a Buffer', { data: Uint8Array.of(1, 2) }, { data: Buffer.of(1, 2) }],
  ['the sign of zero', [-0, Float32Array.of(-0)], [0, Float32Array.of(0)]],
])('does not tell apart %s', (_, one, other) => {
  expect(digestOf(one)).toBe(digestOf(other));
});

it.each([
  ['numbers', [1.5], [1.25]],
  ['the order of a list', [1, 2], [2, 1]],
  ['NaN and null', [Number.NaN], [null]],
  ['neighbouring floats', Float32Array.of(0.1), Float64Array.of(0.1)],
  ['names', { a: 1 }, { b: 1 }],
])('tells apart %s', (_, one, other) => {
  expect(digestOf(one)).not.toBe(digestOf(other));
});
