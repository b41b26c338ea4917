/** The `points` of SVG polylines through some points; a point that is not finite leaves a gap. */
export function polylines(points: readonly (readonly [x: number, y: number])[]): string[] {
  const pieces: string[][] = [[]];
  for (const [x, y] of points) {
    if (Number.isFinite(y)) pieces.at(-1)!.push(`${x.toFixed(1)},${y.toFixed(1)}`);
    else pieces.push([]);
  }
  // A piece of one point would have no length.
  return pieces
    .filter((piece) => piece.length > 0)
    .map((piece) => (piece.length === 1 ? [...piece, ...piece] : piece).join(' '));
}
