/** The solved sudokus of 4 × 4 cells: every row, column and 2 × 2 box holds each digit from 1 to 4 once. */

/** Cells of a grid. */
export const CELLS = 16;

/** Rows, columns and boxes, as places of their cells: rows are read one after another. */
const UNITS: readonly (readonly number[])[] = [0, 1, 2, 3].flatMap((unit) => [
  [0, 1, 2, 3].map((k) => 4 * unit + k),
  [0, 1, 2, 3].map((k) => 4 * k + unit),
  [0, 1, 2, 3].map((k) => 8 * (unit >> 1) + 2 * (unit & 1) + 4 * (k >> 1) + (k & 1)),
]);

/** Cells that share a unit with a cell and stand before it. */
const EARLIER = Array.from({ length: CELLS }, (_, cell) =>
  UNITS.filter((unit) => unit.includes(cell)).flatMap((unit) => unit.filter((other) => other < cell)),
);

/** All 288 of them, in ascending order, as 16 digits each. */
export const SOLVED_GRIDS: readonly string[] = complete('');

/** The solved grids that begin with these digits. */
function complete(digits: string): string[] {
  if (digits.length === CELLS) return [digits];
  const taken = EARLIER[digits.length]!.map((cell) => digits[cell]);
  return ['1', '2', '3', '4']
    .filter((digit) => !taken.includes(digit))
    .flatMap((digit) => complete(digits + digit));
}
