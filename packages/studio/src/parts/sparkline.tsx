/** A curve as small as a word. */
import { polylines } from './polylines.js';

/** Points of a polyline in a box, in pieces: a value that is not finite ends a piece. */
export function sparkPieces(values: ArrayLike<number>, width: number, height: number): string[] {
  const all = Array.from(values);
  const finite = all.filter(Number.isFinite);
  if (finite.length === 0) return [];
  const low = finite.reduce((a, b) => Math.min(a, b));
  const range = finite.reduce((a, b) => Math.max(a, b)) - low;
  const x = (i: number) => (all.length === 1 ? width / 2 : (i / (all.length - 1)) * width);
  const y = (value: number) => (range === 0 ? height / 2 : height - ((value - low) / range) * height);
  return polylines(all.map((value, i) => [x(i), Number.isFinite(value) ? y(value) : Number.NaN]));
}

export function Sparkline({ values, label }: { values: ArrayLike<number>; label: string }) {
  const width = 96;
  const height = 18;
  return (
    <svg
      class="sparkline"
      role="img"
      aria-label={label}
      width={width + 4}
      height={height + 4}
      viewBox={`-2 -2 ${width + 4} ${height + 4}`}
    >
      {sparkPieces(values, width, height).map((points, i) => (
        <polyline key={`${i}`} points={points} />
      ))}
    </svg>
  );
}
