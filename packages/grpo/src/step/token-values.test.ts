import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { joinRows } from '../maths/lists.js';
import { cut } from './token-values.js';

describe('values of tokens', () => {
  it('are joined and cut again, completion by completion', () => {
    fc.assert(
      fc.property(fc.array(fc.float32Array()), (values_B) => {
        const joined = joinRows(Float32Array, values_B);
        expect([...joined]).toEqual(values_B.flatMap((values) => [...values]));
        expect(
          cut(
            joined,
            values_B.map(({ length }) => length),
          ),
        ).toEqual(values_B);
      }),
    );
  });
});
