import { sum } from './moments.js';

/**
 * Factors of some columns whose sum comes nearest to the values, by the normal equations; NaN where columns depend on each
 * other.
 */
export function leastSquares(values: readonly number[], columns: readonly (readonly number[])[]): number[] {
  const dot = (a: readonly number[], b: readonly number[]) => sum(a.map((x, i) => x * b[i]!));
  const rows = columns.map((own) => [...columns.map((other) => dot(own, other)), dot(own, values)]);
  const scale = Math.max(...rows.map((row, i) => row[i]!));
  const n = columns.length;
  for (let k = 0; k < n; k++) {
    // The largest pivot loses least.
    const best = rows.slice(k).reduce((a, b) => (Math.abs(b[k]!) > Math.abs(a[k]!) ? b : a));
    rows.splice(rows.indexOf(best), 1);
    rows.splice(k, 0, best);
    if (Math.abs(best[k]!) <= 1e-12 * scale) return columns.map(() => Number.NaN);
    for (const row of rows) {
      if (row === best) continue;
      const factor = row[k]! / best[k]!;
      for (let j = k; j <= n; j++) row[j]! -= factor * best[j]!;
    }
  }
  return rows.map((row, k) => row[n]! / row[k]!);
}
