/** Rewards of B completions, the groups one after another; NaN where there is no value. */
export interface RewardColumns {
  /** A column per reward: `[K][B]`. */
  columns: readonly Float64Array[];
  weights: readonly number[];
  /** Weighted sums; NaN where a completion could not be scored. */
  totals: Float64Array;
}
