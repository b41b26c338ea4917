/** Whether two mathematical answers are equal, in steps from text to functions, and which step decided. */
import { lastBoxed } from './boxed.js';
import { clean } from './clean-answer.js';
import { evaluateExactly } from './evaluate-expression.js';
import type { Answer } from './expression.js';
import { parseAnswer } from './parse-answer.js';
import { sameAnswer } from './same-answer.js';
import { type Quantity, quantityOf } from './units.js';
import { MAX_LENGTH, type Refusal, RefusalError, Work } from './work.js';

/** The step that decided. */
export type MathRule =
  | 'same text'
  | 'same choice'
  | 'same words'
  | 'same number'
  | 'same expression'
  | 'same elements'
  | 'same equation'
  | 'same up to a unit'
  | 'same percentage'
  | 'same angle'
  | 'different'
  | 'different words'
  | 'different units'
  | 'no answer'
  | 'no gold'
  | 'answer too long'
  | 'gold too long'
  | Refusal;

export interface MathGrade {
  equal: boolean;
  rule: MathRule;
}

const yes = (rule: MathRule): MathGrade => ({ equal: true, rule });
const no = (rule: MathRule): MathGrade => ({ equal: false, rule });

/**
 * Compares an answer with the gold one: LaTeX, plain notation or words.
 *
 * 1. The same text, but for looks: `$\dfrac12$` and `\frac{1}{2}`.
 * 2. The same letter of a choice: `B` and `(B) 12`.
 * 3. Units: missing on one side they do not count; two different ones do. `50\%` is 50, 0.5 and `\frac12`; `90^\circ` is
 *    90 and `\frac{\pi}{2}`.
 * 4. Parsed: exactly, where both are rational; functions and irrational numbers at points. Tuples and intervals with
 *    their brackets and order, sets and lists in any order, equations up to a factor.
 * 5. What is no mathematics: the same words, upper or lower case.
 *
 * The work is bounded: more than 4,096 characters, 40 levels of brackets, or 100,000 operations are refused. Never throws.
 */
export function mathEqual(answer: string, gold: string): MathGrade {
  const limits = refusedUnread(answer, gold);
  if (limits) return limits;
  const [a, g] = [clean(lastBoxed(answer) ?? answer), clean(lastBoxed(gold) ?? gold)];
  if (g === '') return no('no gold');
  if (a === '') return no('no answer');
  if (withoutSpaces(a) === withoutSpaces(g)) return yes('same text');
  const choice = /^\(?([A-J])[).:]?$/.exec(g)?.[1];
  if (choice !== undefined && choiceOf(a) === choice) return yes('same choice');
  return sameQuantity(quantityOf(a), quantityOf(g));
}

/** The grade of an answer that is missing or too long to be read. */
export function refusedUnread(answer: string, gold: string): MathGrade | undefined {
  if (gold.length > MAX_LENGTH) return no('gold too long');
  if (answer.length > MAX_LENGTH) return no('answer too long');
  if (gold.trim() === '') return no('no gold');
  return answer.trim() === '' ? no('no answer') : undefined;
}

/** Without spaces, but for those between two numbers. */
const withoutSpaces = (text: string) => text.replace(/(?<!\d)\s|\s(?!\d)/g, '');

/** The letter that an answer begins with; undefined where it names another one too. */
function choiceOf(text: string): string | undefined {
  const [start, bracketed, bare] = /^(?:\(([A-J])\)|([A-J])(?:[).:]|$))/.exec(text) ?? [''];
  const others = /(?:^|[^a-zA-Z])[A-J](?![a-zA-Z])/.test(text.slice(start.length));
  return others ? undefined : (bracketed ?? bare);
}

function sameQuantity(a: Quantity, g: Quantity): MathGrade {
  const grade = sameTexts(a.value, g.value);
  if (a.unit !== '' && g.unit !== '' && a.unit !== g.unit) return grade.equal ? no('different units') : grade;
  const bare = a.unit === g.unit && a.mark === g.mark;
  if (grade.equal) return bare || grade.rule === 'same words' ? grade : yes('same up to a unit');
  if (a.mark !== 'none' && g.mark !== 'none') return grade;
  const [marked, other] = a.mark !== 'none' ? [a, g] : [g, a];
  const [suffix, rule] =
    marked.mark === 'percent' ? ['%', 'same percentage' as const] : ['^\\circ', 'same angle' as const];
  if (marked.mark === 'none') return grade;
  return sameTexts(`(${marked.value})${suffix}`, other.value).equal ? yes(rule) : grade;
}

/** Without units: parsed where both are mathematics, otherwise as words. */
function sameTexts(a: string, g: string): MathGrade {
  if (withoutSpaces(a) === withoutSpaces(g)) return yes('same text');
  const [wordsA, wordsG] = [words(a), words(g)];
  if (wordsA !== undefined && wordsG !== undefined)
    return wordsA === wordsG ? yes('same words') : no('different words');
  // `1,000` may be one number or two.
  const grouped = /\d,\d{3}(?!\d)/.test(a + g);
  const work = new Work();
  const grade = parsed(a, g, true, work);
  return grade.equal || !grouped ? grade : parsed(a, g, false, work);
}

function parsed(a: string, g: string, thousands: boolean, work: Work): MathGrade {
  try {
    const [x, y] = [parseAnswer(a, work, { thousands }), parseAnswer(g, work, { thousands })];
    return sameAnswer(x, y, work) ? yes(ruleOf(x, y)) : no('different');
  } catch (error) {
    if (!(error instanceof RefusalError)) throw error;
    return no(error.reason);
  }
}

/** A text of words, without articles and in lower case; undefined for letters and words that are mathematics. */
function words(text: string): string | undefined {
  if (!/^[a-zA-Z][a-zA-Z .,'-]*[a-zA-Z]$/.test(text)) return undefined;
  const list = text.toLowerCase().split(/[^a-z]+/);
  if (list.some((word) => /^(?:pi|sqrt|infinity|inf|oo|infty|sin|cos|tan|log|ln|exp)$/.test(word)))
    return undefined;
  if (list.every((word) => word.length === 1)) return undefined;
  return list.filter((word) => !/^(?:the|an?)$/.test(word)).join(' ');
}

/** The rule by which two answers are equal. */
function ruleOf(a: Answer, b: Answer): MathRule {
  if (a.kind === 'relation' || b.kind === 'relation') return 'same equation';
  if (a.kind !== 'value' || b.kind !== 'value') return 'same elements';
  const isNumber = [a, b].every(({ value }) => evaluateExactly(value, new Map(), new Work()) !== null);
  return isNumber ? 'same number' : 'same expression';
}
