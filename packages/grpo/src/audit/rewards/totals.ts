import { largest, sum } from '../../maths/moments.js';
import type { RewardTable } from '../../rewards/index.js';
import type { AuditContext, Measured } from '../context.js';
import { worstOf } from '../worst.js';

/** Relative: sums of the same parts in another order, in float64. */
const ROUNDING = 2 ** -44;

/** The values of each reward → one total of each completion that the step sampled for its own problems. */
export function auditTotals({ batch }: AuditContext): Measured {
  const { rewardTable, rewards_B } = batch.exchange?.own ?? batch;
  const { columns, weights } = rewardTable;
  const plain = plainTotals(rewardTable);
  const scale = largest(columns.map((column, k) => Math.abs(weights[k]!) * largest(known(column))));
  const totals = Array.from(plain, (total, completion) => ({
    found: rewards_B[completion] ?? Number.NaN,
    plain: total,
    bound: ROUNDING * Math.max(1, scale),
    completion,
    // Neither has a total.
    ...(Number.isNaN(total) && Number.isNaN(rewards_B[completion]) && { deviation: 0 }),
  }));
  return { comparisons: worstOf('reward', 'total of the rewards', totals) };
}

/** Σ weight × value; NaN where a reward with a weight failed, or none has a value. */
export function plainTotals({ names, columns, weights, unscored, failures }: RewardTable): Float64Array {
  const weighed = failures.filter(({ reward }) => weights[names.indexOf(reward)] !== 0);
  const failed = new Set(weighed.map(({ index }) => index));
  return Float64Array.from(unscored, (isMarked, b) => {
    // Of a failure that no single completion is to blame for, only the mark tells whom it concerns.
    const isUnscored = failed.has(null) ? isMarked : failed.has(b);
    const parts = columns.flatMap((column, k) =>
      weights[k] === 0 || Number.isNaN(column[b]!) ? [] : [weights[k]! * column[b]!],
    );
    return isUnscored || parts.length === 0 ? Number.NaN : sum(parts);
  });
}

const known = (column: Float64Array) =>
  Array.from(column, (value) => (Number.isNaN(value) ? 0 : Math.abs(value)));
