import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UserError } from '../errors/user-error.js';
import { TokenSets } from './token-sets.js';

const VOCAB = 4000;
/** Sets of a few ids, of most of the vocabulary, and of runs. */
const set = fc.oneof(
  fc.uniqueArray(fc.nat(VOCAB - 1), { maxLength: 40 }),
  fc.uniqueArray(fc.nat(VOCAB - 1), { maxLength: 20 }).map((without) => {
    const gone = new Set(without);
    return Array.from({ length: VOCAB }, (_, id) => id).filter((id) => !gone.has(id));
  }),
  fc
    .tuple(fc.nat(VOCAB - 1), fc.nat(99))
    .map(([from, count]) => Array.from({ length: Math.min(count, VOCAB - from) }, (_, i) => from + i)),
);
const rising = (ids: number[]) => ids.sort((a, b) => a - b);
const sets = fc.array(set.map(rising), { maxLength: 6 });
const idsOf = (all: TokenSets) => Array.from({ length: all.length }, (_, i) => Array.from(all.ids(i)));

describe('TokenSets', () => {
  it('gives back what was put in, also from its bytes', () => {
    fc.assert(
      fc.property(sets, (ids) => {
        const all = TokenSets.of(ids);
        expect(all.length).toBe(ids.length);
        expect(idsOf(all)).toEqual(ids);
        expect(ids.map((_, i) => all.size(i))).toEqual(ids.map(({ length }) => length));
        for (const [i, set] of ids.entries())
          for (const id of [0, 7, VOCAB - 1, VOCAB, ...set.slice(0, 3).flatMap((id) => [id, id + 1])])
            expect(all.has(i, id), `${id} in ${set}`).toBe(set.includes(id));
        expect(idsOf(TokenSets.fromBytes([...all.lengths], all.data))).toEqual(ids);
      }),
    );
  });

  it('takes at most an eighth of the vocabulary in bytes, three bytes aside, and few for few ids', () => {
    fc.assert(
      fc.property(sets, (ids) => {
        const { lengths } = TokenSets.of(ids);
        for (const [i, length] of lengths.entries()) {
          expect(length).toBeLessThanOrEqual(3 + VOCAB / 8);
          expect(length).toBeLessThanOrEqual(3 + 2 * ids[i]!.length);
        }
      }),
    );
  });

  // By hand: sizes 3 and 9 doubled, gaps 5, 0 and 293; nine ids of ten are the bits of two bytes.
  it('is coded as its description says', () => {
    const few = TokenSets.of([[5, 6, 300]]);
    expect([...few.data]).toEqual([6, 5, 0, 0xa5, 2]);
    const many = TokenSets.of([[0, 1, 2, 3, 5, 6, 7, 8, 9]]);
    expect([...many.data]).toEqual([19, 0b11101111, 0b11]);
    expect([...TokenSets.of([[], [0]]).data]).toEqual([0, 2, 0]);
  });

  it('joins parts in their order', () => {
    fc.assert(
      fc.property(fc.array(sets, { maxLength: 4 }), (parts) => {
        expect(idsOf(TokenSets.concat(parts.map((ids) => TokenSets.of(ids))))).toEqual(parts.flat());
      }),
    );
  });

  it.each([[[3, 2]], [[4, 4]], [[-1]], [[1.5]], [[2 ** 31]]])('takes rising ids only, not %o', (ids) => {
    expect(() => TokenSets.of([ids])).toThrow(RangeError);
  });

  it.each([
    ['cut off', [4], [4, 1, 1, 9].slice(0, 3), 'should take 4 bytes and take 3'],
    ['short of an id', [2], [4, 1], 'token 0 should have 2 ids and has 1'],
    ['with one too many', [1, 3], [0, 2, 1, 1], 'token 1 should have 1 ids and has 2'],
    ['with another count of bits', [2], [5, 0b111], 'token 0 should have 2 ids and has 3'],
    ['without a size', [2], [0x80, 0x80], 'token 0 has no size'],
    ['with half a number', [2], [2, 0x80], 'token 0 has an id that is none'],
    ['empty', [0], [], 'token 0 has no size'],
  ])('refuses bytes that are %s', (_, lengths, data, problem) => {
    expect(() => TokenSets.fromBytes(lengths, Uint8Array.from(data))).toThrow(problem);
    expect(() => TokenSets.fromBytes(lengths, Uint8Array.from(data))).toThrow(UserError);
  });
});
