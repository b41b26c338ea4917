import { describe, expect, it } from 'vitest';
import { Refusal } from '../../../http/refusal.js';
import { byteRange } from './byte-range.js';

describe('a range of a file of 10,000 bytes (the examples of RFC 9110, 14.1.2)', () => {
  it.each([
    ['bytes=0-499', 0, 500],
    ['bytes=500-999', 500, 1000],
    ['bytes=-500', 9500, 10_000],
    ['bytes=9500-', 9500, 10_000],
    ['bytes=0-0', 0, 1],
    ['bytes=-1', 9999, 10_000],
    ['bytes=9999-9999', 9999, 10_000],
    ['bytes=9999-20000', 9999, 10_000],
    ['bytes=0-', 0, 10_000],
    ['bytes=-20000', 0, 10_000],
    ['bytes=5-99999999999999999999999', 5, 10_000],
    ['Bytes=1-2', 1, 3],
    ['bytes= 1-2 ', 1, 3],
    ['bytes=,1-2,', 1, 3],
  ])('%s', (header, start, end) => {
    expect(byteRange(header, 10_000)).toEqual({ start, end });
  });

  it.each([
    'bytes=10000-',
    'bytes=10000-10001',
    'bytes=99999999999999999999999-',
    'bytes=-0',
    'bytes=5-4',
    'bytes=-',
    'bytes=',
    'bytes=a-b',
    'bytes=1',
    'bytes=1-2-3',
    'bytes=--5',
    'bytes=0x1-2',
    'bytes=1.0-2',
    'bytes=1e1-20',
    'bytes=+1-2',
    'bytes=0-1,5-6',
    'bytes=0-1,0-1',
    'bytes=٣-٤',
  ])('%s is refused, with the size', (header) => {
    expect(() => byteRange(header, 10_000)).toThrow(Refusal);
    try {
      byteRange(header, 10_000);
    } catch (error) {
      expect(error).toMatchObject({ status: 416, headers: { 'content-range': 'bytes */10000' } });
    }
  });

  it.each([undefined, '', 'items=0-5', 'bytes 0-5', 'seconds=1-2'])('%s asks for no bytes', (header) => {
    expect(byteRange(header, 10_000)).toBeUndefined();
  });
});

it('an empty file has no range, but its last bytes are all of it', () => {
  expect(() => byteRange('bytes=0-', 0)).toThrow(Refusal);
  expect(() => byteRange('bytes=0-0', 0)).toThrow(Refusal);
  expect(() => byteRange('bytes=-0', 0)).toThrow(Refusal);
  expect(byteRange('bytes=-5', 0)).toBeUndefined();
});
