import { expect, it } from 'vitest';
import { totals } from '../../rewards/index.js';
import type { AuditContext } from '../context.js';
import { auditTotals } from './totals.js';

const NONE = Number.NaN;

/** Two rewards of four completions: one failed, one has no value at all. */
const table = {
  names: ['right', 'short'],
  weights: [1, 0.3],
  columns: [Float64Array.of(0.1, 0.7, 1, NONE), Float64Array.of(0.2, NONE, 0.4, NONE)],
  unscored: Uint8Array.of(0, 0, 1, 0),
  failures: [],
};

function totalsApart(change: (own: Float64Array) => Float64Array): boolean[] {
  const batch = { rewardTable: table, rewards_B: change(totals(table)) };
  const measured = auditTotals({ batch } as unknown as AuditContext);
  return [measured]
    .flat()
    .flatMap((one) =>
      'comparisons' in one ? one.comparisons.map(({ deviation, bound }) => !(deviation <= bound)) : [],
    );
}

it('totals are weighted sums', () => {
  expect(totalsApart((own) => own)).toEqual([false]);
});

it.each<[string, (own: Float64Array) => Float64Array]>([
  ['one weight twice', (own) => own.map((total, b) => total + (b === 0 ? 0.06 : 0))],
  ['a number for what failed', (own) => own.map((total, b) => (b === 2 ? 0 : total))],
  ['no number for what did not fail', (own) => own.map((total, b) => (b === 1 ? NONE : total))],
  ['one completion further', (own) => own.map((_, b) => own[(b + 1) % own.length]!)],
])('%s is found', (_, change) => {
  expect(totalsApart(change)).toEqual([true]);
});
