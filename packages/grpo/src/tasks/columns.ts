/** Column arithmetic in writing, as a demonstration of thinking: short, and every step a small fact to learn. */

/**
 * Adds up the terms from left to right. Each step is written column by column from the units: `digit+digit=sum`,
 * with `+1` for a carry, as in `7+5=12;2+4+1=7` for 27+45; or `digit-digit=rest` with a 1 borrowed in front, as in
 * `12-7=5;4-2=2` for 52−27 (the larger number first; the sign is the result's). Steps are separated by a space.
 */
export function workColumns(terms: readonly number[]): { work: string; result: number } {
  let result = terms[0] ?? 0;
  const steps: string[] = [];
  for (const term of terms.slice(1)) {
    const [a, b] = [Math.abs(result), Math.abs(term)];
    const sameSign = result >= 0 === term >= 0 || result === 0 || term === 0;
    steps.push(sameSign ? addColumns(a, b) : subtractColumns(Math.max(a, b), Math.min(a, b)));
    result += term;
  }
  return { work: steps.join(' '), result };
}

/** Digits from the units on, as many as `length`. */
function digits(value: number, length: number): number[] {
  return [...String(value).padStart(length, '0')].reverse().map(Number);
}

function addColumns(a: number, b: number): string {
  const length = Math.max(String(a).length, String(b).length);
  const [x, y] = [digits(a, length), digits(b, length)];
  let carry = 0;
  const columns = x.map((digit, k) => {
    const sum = digit + y[k]! + carry;
    const column = `${digit}+${y[k]}${carry ? '+1' : ''}=${sum}`;
    carry = sum > 9 ? 1 : 0;
    return column;
  });
  return columns.join(';');
}

/** Of two numbers with a ≥ b. */
function subtractColumns(a: number, b: number): string {
  const length = String(a).length;
  const [x, y] = [digits(a, length), digits(b, length)];
  let borrow = 0;
  const columns = x.map((digit, k) => {
    let top = digit - borrow;
    borrow = top < y[k]! ? 1 : 0;
    top += 10 * borrow;
    return `${top}-${y[k]}=${top - y[k]!}`;
  });
  return columns.join(';');
}
