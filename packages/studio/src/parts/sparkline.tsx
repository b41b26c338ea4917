/** A curve as small as a word. */

/** Points of a polyline in a box, in pieces: a value that is not finite ends a piece. */
export function sparkPieces(values: ArrayLike<number>, width: number, height: number): string[] {
  const all = Array.from(values);
  const finite = all.filter(Number.isFinite);
  if (finite.length === 0) return [];
  const low = Math.min(...finite);
  const range = Math.max(...finite) - low;
  const x = (i: number) => (all.length === 1 ? width / 2 : (i / (all.length - 1)) * width);
  const y = (value: number) => (range === 0 ? height / 2 : height - ((value - low) / range) * height);
  const pieces: string[][] = [[]];
  for (const [i, value] of all.entries()) {
    if (Number.isFinite(value)) pieces.at(-1)!.push(`${x(i).toFixed(1)},${y(value).toFixed(1)}`);
    else pieces.push([]);
  }
  // A piece of one point would have no length.
  return pieces
    .filter((piece) => piece.length > 0)
    .map((piece) => (piece.length === 1 ? [...piece, ...piece] : piece).join(' '));
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
