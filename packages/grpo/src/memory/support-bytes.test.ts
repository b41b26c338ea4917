import { describe, expect, it } from 'vitest';
import { TokenSets } from '../formats/token-sets.js';
import { uniform } from '../maths/random.js';
import { supportBytes } from './support-bytes.js';

/** Bytes of sets of so many ids, drawn at random from the vocabulary, a set. */
function drawnBytes(vocabulary: number, size: number): number {
  const sets = Array.from({ length: 20 }, (_, seed) => {
    const ids = new Set<number>();
    for (let i = 0; ids.size < size; i++) ids.add(Math.floor(uniform(seed, i) * vocabulary));
    return [...ids].sort((a, b) => a - b);
  });
  return TokenSets.of(sets).data.length / sets.length;
}

describe('the bytes of kept ids', () => {
  it.each([
    [151_936, 20],
    [151_936, 2000],
    [32_000, 400],
    [32_000, 8000],
    [300, 20],
  ])('of a vocabulary of %i are no fewer than %i random ids take, nor many more', (vocabSize, topK) => {
    const [drawn, bound] = [drawnBytes(vocabSize, topK), supportBytes({ vocabSize }, topK)];
    expect(bound).toBeGreaterThanOrEqual(drawn);
    expect(bound).toBeLessThan(1.5 * drawn + 20);
  });

  it('are never more than a bit for each id, and a few', () => {
    expect(supportBytes({ vocabSize: 800 }, 0)).toBe(116);
    expect(supportBytes({ vocabSize: 151_936 }, 100_000)).toBe(151_936 / 8 + 16);
  });
});
