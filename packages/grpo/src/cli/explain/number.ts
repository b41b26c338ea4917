/** A number as a person writes it: `0.0001`, `1e-8`, `20480`. */
export function decimal(value: number): string {
  // 1 + 0.28 has a long tail in binary.
  const rounded = Number(value.toPrecision(12));
  return rounded !== 0 && Math.abs(rounded) < 1e-4 ? rounded.toExponential() : String(rounded);
}
