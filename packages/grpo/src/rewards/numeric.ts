/** Numeric grading: two texts are compared as exact decimals, never as floating-point numbers. */

/** How a grade was decided. */
export interface NumericGrade {
  correct: boolean;
  /**
   * - `equal`, `different`: both are numbers
   * - `answer not a number`, `gold not a number`: not both are, which is never correct
   */
  rule: 'equal' | 'different' | 'answer not a number' | 'gold not a number';
  /** The answer as a plain decimal, `1000.5`; null when it is not a number. */
  answer: string | null;
  /** The gold answer likewise. */
  gold: string | null;
}

const DECIMAL = /^([+-]?)[$€£¥]?([+-]?)(\d+|\d{1,3}(?:,\d{3})+|(?=\.))(?:\.(\d+))?$/;

/**
 * Reads a number as people write it: a sign (`-` or `−`), a currency sign ($ € £ ¥) before or after it, commas
 * between groups of three digits, a decimal point, a full stop at the end, white space around. Nothing else: no
 * units, per cent, fractions, exponents or decimal commas, since what those mean depends on the question.
 *
 * @returns the number in its one plainest form, so that equal numbers are equal strings: `$1,000.50` gives
 * `1000.5`, `-0.0` gives `0`; null for anything else
 */
export function parseDecimal(text: string): string | null {
  const plain = text.trim().replace(/\.$/, '').replaceAll('−', '-');
  const match = DECIMAL.exec(plain);
  if (!match) return null;
  const [, before = '', after = '', whole = '', decimals = ''] = match;
  if (before && after) return null;
  const integer = whole.replaceAll(',', '').replace(/^0+/, '') || '0';
  const fraction = trimZeros(decimals);
  const magnitude = fraction ? `${integer}.${fraction}` : integer;
  return before + after === '-' && magnitude !== '0' ? `-${magnitude}` : magnitude;
}

/** Without zeros at the end; a loop, as the regular expression for it takes quadratic time on long runs of zeros. */
function trimZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  return digits.slice(0, end);
}

/** The final answer of a worked solution: what follows its last `####`, as in GSM8K; the whole text without one. */
export function goldAnswer(solution: string): string {
  const mark = solution.lastIndexOf('####');
  return (mark < 0 ? solution : solution.slice(mark + 4)).trim();
}

/**
 * Whether an answer is the gold number.
 *
 * @param answer - the model's answer and nothing else; see {@link parseDecimal} for what it may look like
 * @param gold - a number likewise, or a worked solution that ends in `#### number`
 */
export function gradeNumeric(answer: string, gold: string): NumericGrade {
  const numbers = { answer: parseDecimal(answer), gold: parseDecimal(goldAnswer(gold)) };
  if (numbers.gold === null) return { correct: false, rule: 'gold not a number', ...numbers };
  if (numbers.answer === null) return { correct: false, rule: 'answer not a number', ...numbers };
  const correct = numbers.answer === numbers.gold;
  return { correct, rule: correct ? 'equal' : 'different', ...numbers };
}
