import { tensor } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { encodeTensor } from './encode-tensor.js';

const hex = (values: readonly number[], type: Parameters<typeof encodeTensor>[1]) =>
  Buffer.from(encodeTensor(tensor(values), type, 'w')).toString('hex');

describe('encodeTensor', () => {
  it('writes Q8_0 as the reference of ggml does', () => {
    // Made by `gguf.quants.quantize` (gguf 0.19): halves away from zero, zeros, a scale below float16's smallest.
    const ramp = Array.from({ length: 20 }, (_, i) => i * 0.37 - 3);
    const blocks = [
      [0, 1, -1, 0.5, -0.5, 126.5, -126.5, 127, 3.49, 3.5, 3.51, -3.5, ...ramp],
      Array.from({ length: 32 }, () => 0),
      Array.from({ length: 32 }, (_, i) => 1e-9 * i),
      Array.from({ length: 32 }, (_, i) => Math.sin(i * 1.7) * 0.02),
    ];
    expect(hex(blocks.flat(), 'Q8_0').match(/.{68}/g)).toEqual([
      '003c0001ff01ff7f817f030404fcfdfdfefefeffff00000001010102020303030404',
      '0'.repeat(68),
      '00000004080c1014191d2125292d3135393d42464a4e52565a5e62666b6f73777b7f',
      '2909007ee08a3f65a7b16d3286ed7ff2852e70b6a362438cdb7d05811b77c6985553',
    ]);
  });

  it('rounds to the nearest float16 and bfloat16, ties to even', () => {
    expect(hex([1, -2, 1 + 2 ** -11, 1 + 3 * 2 ** -11, 65504], 'F16')).toBe('003c00c0003c023cff7b');
    expect(hex([1, -2, 1 + 2 ** -8, 1 + 3 * 2 ** -8, 1e38], 'BF16')).toBe('803f00c0803f823f967e');
    expect(hex([0.1], 'F32')).toBe('cdcccc3d');
  });

  it.each([
    [[1, NaN], 'BF16', /tensor 'w' holds NaN or infinite numbers/],
    [[-Infinity], 'F32', /tensor 'w' holds NaN or infinite numbers/],
    [[1, -70000], 'F16', /tensor 'w' holds 70000, and F16 no number beyond 65504/],
  ] as const)('refuses %s as %s', (values, type, message) => {
    expect(() => encodeTensor(tensor(values), type, 'w')).toThrow(message);
  });
});
