import { tensor, tidy } from '@grpo/torch';
import { expect, it } from 'vitest';
import { uniform } from '../maths/random.js';
import { type DecoderConfig, equalLayers } from './config.js';
import { packSegments } from './pack-segments.js';

const config = {
  heads: 4,
  kvHeads: 2,
  headDim: 6,
  ...equalLayers({ layers: 1, headDim: 6 }),
  diffusion: { maskId: 0, shifted: false },
} as DecoderConfig;

it('attends to every token of the segment and to no other', () =>
  tidy(() => {
    const lengths = [5, 5, 3, 1, 4, 4];
    const N = lengths.reduce((sum, length) => sum + length, 0);
    const numbers = (heads: number, key: number) =>
      Float32Array.from({ length: N * heads * 6 }, (_, i) => 3 * (uniform(1, key, i) - 0.5));
    const [q, k, v] = [numbers(4, 1), numbers(2, 2), numbers(2, 3)];
    const packed = packSegments(
      lengths.map((length) => ({ ids: Array<number>(length).fill(0) })),
      config,
      'cpu',
    );
    const out = packed
      .attend(0, tensor(q, [N, 4, 6]), tensor(k, [N, 2, 6]), tensor(v, [N, 2, 6]))
      .reshape([-1])
      .toNumbers();
    const segmentOf = lengths.flatMap((length, s) => Array<number>(length).fill(s));
    for (let n = 0; n < N; n++) {
      for (let h = 0; h < 4; h++) {
        const seen = segmentOf.flatMap((s, m) => (s === segmentOf[n] ? [m] : []));
        const keyHead = Math.floor(h / 2);
        const weights = seen.map((m) => {
          let dot = 0;
          for (let d = 0; d < 6; d++) dot += q[(n * 4 + h) * 6 + d]! * k[(m * 2 + keyHead) * 6 + d]!;
          return Math.exp(dot / Math.sqrt(6));
        });
        const mass = weights.reduce((sum, weight) => sum + weight, 0);
        for (let d = 0; d < 6; d++) {
          const value = seen.reduce(
            (sum, m, i) => sum + (weights[i]! / mass) * v[(m * 2 + keyHead) * 6 + d]!,
            0,
          );
          expect(Math.abs(out[(n * 4 + h) * 6 + d]! - value)).toBeLessThan(1e-5);
        }
      }
    }
  }));

it('refuses a segment with a parent', () => {
  expect(() => packSegments([{ ids: [1] }, { ids: [2], parent: 0 }], config, 'cpu')).toThrow(
    'shared prompts',
  );
});
