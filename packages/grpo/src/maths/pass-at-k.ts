/**
 * Probability that at least one of k completions is right, estimated without bias from n completions of which c are:
 * 1 − C(n − c, k) / C(n, k), the share of the k-subsets that hold a right one (Chen et al., 2021).
 *
 * @throws RangeError unless 0 ≤ right ≤ samples and 1 ≤ k ≤ samples
 */
export function passAtK(samples: number, right: number, k: number): number {
  if (!(k >= 1 && k <= samples && right >= 0 && right <= samples)) {
    throw new RangeError(`pass@${k} cannot be estimated from ${right} right of ${samples} completions`);
  }
  // C(n − c, k) / C(n, k) factor by factor: the binomials themselves overflow. Beyond n − c a factor is 0.
  let none = 1;
  for (let i = 0; i < k; i++) none *= Math.max(0, samples - right - i) / (samples - i);
  return 1 - none;
}

/** The k to report when none are given: 1, 2, 4, …, and all samples; none where a problem has only one. */
export function defaultKs(samples: number): number[] {
  if (samples < 2) return [];
  const ks: number[] = [];
  for (let k = 1; k < samples; k *= 2) ks.push(k);
  return [...ks, samples];
}
