/** 97.5 % and 80 % quantiles of the standard normal distribution: two-sided 95 % confidence, 80 % power. */
const Z = 1.959963984540054 + 0.8416212335729143;

/**
 * Problems on which two models have to be evaluated, so that a difference of their accuracies is told from chance with
 * 95 % confidence in 80 % of the cases. It is that of two independent evaluations; on the same problems fewer can do.
 *
 * @param accuracy - of one; the other's is taken to be nearer to one half, where more are needed
 */
export function problemsToTell(accuracy: number, difference: number): number {
  const one = Math.min(accuracy, 1 - accuracy);
  const other = one + difference;
  return Math.ceil((Z / difference) ** 2 * (one * (1 - one) + other * (1 - other)));
}
