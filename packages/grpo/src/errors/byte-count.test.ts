import { expect, it } from 'vitest';
import { byteCount, parseByteCount } from './byte-count.js';

it.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [999, '999 bytes'],
  [1000, '1.0 kB'],
  [9949, '9.9 kB'],
  [9950, '10 kB'],
  [999_499, '999 kB'],
  [999_500, '1.0 MB'],
  [2 ** 30, '1.1 GB'],
  [2 ** 63, '9.2 EB'],
])('%d bytes are %s', (bytes, text) => {
  expect(byteCount(bytes)).toBe(text);
});

it.each([
  ['12GB', 12e9],
  ['1.5 GiB', 1.5 * 2 ** 30],
  ['800mb', 800e6],
  ['64 kB', 64_000],
  ['12', undefined],
  ['12 GBit', undefined],
  ['-1GB', undefined],
])('%s means %s bytes', (text, bytes) => {
  expect(parseByteCount(text)).toBe(bytes);
});
