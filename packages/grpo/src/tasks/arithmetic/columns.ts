/** Column arithmetic in writing, as a demonstration of thinking: short, and every step a small fact to learn. */

/** Whether the carry (or borrow) out of a column is forgotten; `step` counts the additions of an expression. */
export type Forgets = (step: number, column: number) => boolean;

/**
 * Adds up the terms from left to right. Each step is written column by column from the units: `digit+digit+carry=sum`,
 * every column as wide as the others, as in `7+5+0=12;2+4+1=07` for 27+45; or `digit-digit=rest` with a 1 borrowed in
 * front, as in `12-7=5;4-2=2` for 52−27 (the larger number first; the sign is the result's). Steps are separated by a
 * space.
 *
 * @param forgets - slips of the one who writes: without the carry 27+45 becomes `7+5+0=12;2+4+0=06`, and the result 62
 */
export function workColumns(
  terms: readonly number[],
  forgets: Forgets = () => false,
): { work: string; result: number } {
  let result = terms[0] ?? 0;
  const steps: string[] = [];
  for (const [i, term] of terms.slice(1).entries()) {
    const [a, b] = [Math.abs(result), Math.abs(term)];
    const sameSign = result >= 0 === term >= 0 || result === 0 || term === 0;
    const column = (k: number) => forgets(i, k);
    const { text, value } = sameSign
      ? addColumns(a, b, column)
      : subtractColumns(Math.max(a, b), Math.min(a, b), column);
    steps.push(text);
    result = result + term < 0 ? -value : value;
  }
  return { work: steps.join(' '), result };
}

/** Digits from the units on, as many as `length`. */
function digits(value: number, length: number): number[] {
  return [...String(value).padStart(length, '0')].reverse().map(Number);
}

interface Columns {
  text: string;
  /** Result of the columns. */
  value: number;
}

function addColumns(a: number, b: number, forgets: (column: number) => boolean): Columns {
  const length = Math.max(String(a).length, String(b).length);
  const [x, y] = [digits(a, length), digits(b, length)];
  let carry = 0;
  let value = 0;
  const columns = x.map((digit, k) => {
    const sum = digit + y[k]! + carry;
    const column = `${digit}+${y[k]}+${carry}=${String(sum).padStart(2, '0')}`;
    carry = sum > 9 && !forgets(k) ? 1 : 0;
    value += (sum % 10) * 10 ** k;
    return column;
  });
  return { text: columns.join(';'), value: value + carry * 10 ** length };
}

/** Subtracts column by column; a ≥ b. */
function subtractColumns(a: number, b: number, forgets: (column: number) => boolean): Columns {
  const length = String(a).length;
  const [x, y] = [digits(a, length), digits(b, length)];
  let borrow = 0;
  let value = 0;
  const columns = x.map((digit, k) => {
    let top = digit - borrow;
    const short = top < y[k]!;
    top += short ? 10 : 0;
    borrow = short && !forgets(k) ? 1 : 0;
    value += (top - y[k]!) * 10 ** k;
    return `${top}-${y[k]}=${top - y[k]!}`;
  });
  return { text: columns.join(';'), value };
}
