import { expect, it } from 'vitest';
import { byteCount } from './byte-count.js';

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
