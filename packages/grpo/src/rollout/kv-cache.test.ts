import { noGrad, tensor, tidy } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { uniform } from '../config/random.js';
import type { DecoderConfig } from '../models/index.js';
import { KvCache } from './kv-cache.js';
import { range } from './rollout.test.helper.js';

const [HEADS, KV_HEADS, WIDTH] = [4, 2, 3];
const config = { layers: 2, heads: HEADS, kvHeads: KV_HEADS, headDim: WIDTH } as DecoderConfig;

type Kind = 'q' | 'k' | 'v';

/** The vector that stands for a token of a sequence: `heads × WIDTH` numbers, a function of where it stands. */
function vector(kind: Kind, layer: number, sequence: number, position: number): number[] {
  const heads = kind === 'q' ? HEADS : KV_HEADS;
  return range(heads * WIDTH).map((i) => 4 * uniform('qkv'.indexOf(kind), layer, sequence, position, i) - 2);
}

/** What the query at `position` sees of its own sequence, in plain numbers. */
function attention(layer: number, sequence: number, position: number): number[] {
  const q = vector('q', layer, sequence, position);
  return range(HEADS).flatMap((head) => {
    const kvHead = Math.floor(head / (HEADS / KV_HEADS));
    const own = (kind: Kind, at: number) =>
      vector(kind, layer, sequence, at).slice(kvHead * WIDTH, (kvHead + 1) * WIDTH);
    const weights = range(position + 1).map((at) => {
      const score = own('k', at).reduce((sum, k, i) => sum + k * q[head * WIDTH + i]!, 0);
      return Math.exp(score / Math.sqrt(WIDTH));
    });
    const total = weights.reduce((a, b) => a + b);
    return range(WIDTH).map((i) => weights.reduce((sum, w, at) => sum + (w / total) * own('v', at)[i]!, 0));
  });
}

/** A cache with the prompts of these lengths in it; sequence r is in row r. */
function filled(lengths: number[]): KvCache {
  const cache = new KvCache(config, { dtype: 'float32', device: 'cpu' }, lengths, 5);
  for (const layer of range(config.layers)) {
    for (const [row, length] of lengths.entries()) {
      const prompt = (kind: Kind) =>
        tensor(
          range(length).flatMap((at) => vector(kind, layer, row, at)),
          [length, KV_HEADS, WIDTH],
        );
      cache.storePrompt(layer, row, 1, prompt('k'), prompt('v'));
    }
  }
  return cache;
}

/** One token more for every row, in all layers; row r holds `sequences[r]`. Checks what each sees. */
function expectStep(cache: KvCache, sequences: { id: number; length: number }[]): void {
  for (const layer of range(config.layers)) {
    const rows = (kind: Kind, heads: number) =>
      tensor(
        sequences.flatMap(({ id, length }) => vector(kind, layer, id, length)),
        [sequences.length, heads, WIDTH],
      );
    const seen = cache.attend(layer, rows('q', HEADS), rows('k', KV_HEADS), rows('v', KV_HEADS)).toNumbers();
    const expected = sequences.flatMap(({ id, length }) => attention(layer, id, length));
    expect(seen.length).toBe(expected.length);
    for (const [i, x] of seen.entries())
      expect(x, `layer ${layer}, number ${i}`).toBeCloseTo(expected[i]!, 5);
  }
  cache.advance();
  for (const sequence of sequences) sequence.length++;
}

describe('KvCache', () => {
  it.each([
    ['equal', [4, 4, 4, 4]],
    ['unequal', [2, 5, 1, 3]],
    ['unequal, the longest last', [1, 2, 3, 6]],
  ])('lets each row see its own sequence as rows leave: prompts %s', (_, lengths) => {
    noGrad(() =>
      tidy(() => {
        const cache = filled(lengths);
        const sequences = lengths.map((length, id) => ({ id, length }));
        const drop = (row: number) => {
          cache.drop(row);
          const last = sequences.pop()!;
          if (row < sequences.length) sequences[row] = last;
        };
        expectStep(cache, sequences);
        drop(0);
        expectStep(cache, sequences);
        drop(2);
        drop(0);
        expectStep(cache, sequences);
        expect(sequences.length).toBe(1);
        cache.dispose();
      }),
    );
  });

  it('gives every row of a group the prompt', () => {
    noGrad(() =>
      tidy(() => {
        const cache = new KvCache(config, { dtype: 'float32', device: 'cpu' }, [1, 3, 3, 3], 2);
        const prompt = (kind: Kind, layer: number, length: number, id: number) =>
          tensor(
            range(length).flatMap((at) => vector(kind, layer, id, at)),
            [length, KV_HEADS, WIDTH],
          );
        for (const layer of range(config.layers)) {
          cache.storePrompt(layer, 0, 1, prompt('k', layer, 1, 0), prompt('v', layer, 1, 0));
          cache.storePrompt(layer, 1, 3, prompt('k', layer, 3, 1), prompt('v', layer, 3, 1));
        }
        expectStep(cache, [
          { id: 0, length: 1 },
          { id: 1, length: 3 },
          { id: 1, length: 3 },
          { id: 1, length: 3 },
        ]);
        cache.dispose();
      }),
    );
  });
});
