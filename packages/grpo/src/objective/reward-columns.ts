/** Rewards of B completions, the groups one after another; NaN where there is no value. */
export interface RewardColumns {
  /** A column a reward: `[K][B]`. */
  columns: readonly Float64Array[];
  weights: readonly number[];
  /** Weighted sums; NaN where a completion could not be scored. */
  totals: Float64Array;
}

/** Where one reward failed, the others of the completion are not compared either. */
export const scoredOnly = ({ columns, weights, totals }: RewardColumns): RewardColumns => ({
  columns: columns.map((column) => column.map((value, b) => (Number.isNaN(totals[b]!) ? Number.NaN : value))),
  weights,
  totals,
});
