import { describe, expect, it } from 'vitest';
import { kindsOf } from './kinds.js';

const problems = (...rows: unknown[]) => rows.map((row) => ({ prompt: '', row }));

describe('the kind of a problem', () => {
  it('is told by its row', () => {
    expect(kindsOf(problems({ kind: 'fair' }, { kind: 2 }), 'kind')).toEqual(['fair', '2']);
    expect(kindsOf(problems(1, { kind: 'fair' }), undefined)).toEqual(['', '']);
  });

  it.each([[{ kin: 'fair' }], [{ kind: '' }], [{ kind: null }], ['fair'], [undefined]])(
    'that is missing is told of: %j',
    (row) => {
      expect(() => kindsOf(problems({ kind: 'fair' }, row), 'kind')).toThrow(
        /a problem has no kind: its row .* has no text or number kind/,
      );
    },
  );
});
