import { expect, it } from 'vitest';
import { type RewardTable, totals } from '../../rewards/index.js';
import type { AuditContext } from '../context.js';
import { auditTotals } from './totals.js';

const NONE = Number.NaN;

const failure = { reward: 'short', index: 2, affected: 1, prompt: '', completion: '', reason: 'threw' };

/** Two rewards of four completions: one failed, one has no value at all. */
const table: RewardTable = {
  names: ['right', 'short'],
  weights: [1, 0.3],
  columns: [Float64Array.of(0.1, 0.7, 1, NONE), Float64Array.of(0.2, NONE, NONE, NONE)],
  unscored: Uint8Array.of(0, 0, 1, 0),
  failures: [failure],
};

function totalsApart(change: (own: Float64Array) => Float64Array, rewardTable = table): boolean[] {
  const batch = { rewardTable, rewards_B: change(totals(rewardTable)) };
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

it('a failure that is not marked is found, and a mark without a failure', () => {
  const marked = (...unscored: number[]) => ({ ...table, unscored: Uint8Array.from(unscored) });
  expect(totalsApart((own) => own, marked(0, 0, 0, 0))).toEqual([true]);
  expect(totalsApart((own) => own, marked(1, 0, 1, 0))).toEqual([true]);
  // Whom the failure of a whole batch concerns, only the mark tells.
  const whole = { ...marked(1, 0, 1, 0), failures: [{ ...failure, index: null }] };
  expect(totalsApart((own) => own, whole)).toEqual([false]);
});
