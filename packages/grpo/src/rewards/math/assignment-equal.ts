/** Equality as CS336's assignment 5 grades it: by a normal text, by plain mathematics with refusals, or by all we know. */
import { lastBoxed } from './boxed.js';
import { type MathRule, mathEqual, refusedUnread } from './math-equal.js';
import { normalText } from './normal-text.js';
import { parseAnswer } from './parse-answer.js';
import { plainText } from './plain-text.js';
import { repetition } from './repetition.js';
import { sameAnswer } from './same-answer.js';
import { RefusalError, Work } from './work.js';

/** {@link MathRule}, and the refusals of the fast grader. */
export type AssignmentRule =
  | MathRule
  | 'same plain text'
  | 'different brackets'
  | 'different number of elements'
  | 'fraction not reduced'
  | 'whole number against another'
  | 'more than two letters'
  | 'a power'
  | 'repetitive';

export interface AssignmentGrade {
  equal: boolean;
  rule: AssignmentRule;
}

/** From how many characters on an answer may be too repetitive, and how much that is. */
const LONG = 128;
const REPETITIVE = 0.2;

/**
 * 1. Equal after {@link normalText}.
 * 2. Equal after {@link plainText}, or elements that are, one by one and in order: brackets and their number must agree;
 *    two plain fractions must be identical; a whole number is equal only to a whole number; the rest is compared as
 *    mathematics, but not with more than two letters in it, functions' names included, nor with a power of several
 *    characters.
 * 3. Unless `fast`: {@link mathEqual}, for answers that do not repeat themselves.
 */
export function assignmentEqual(answer: string, gold: string, fast: boolean): AssignmentGrade {
  const limits = refusedUnread(answer, gold);
  if (limits) return limits;
  if (normalText(answer) === normalText(gold)) return { equal: true, rule: 'same text' };
  const quick = samePlain(plainText(answer), plainText(gold));
  if (quick.equal || fast) return quick;
  if (answer.length > LONG && repetition(answer) > REPETITIVE) return { equal: false, rule: 'repetitive' };
  return mathEqual(answer, gold);
}

const no = (rule: AssignmentRule): AssignmentGrade => ({ equal: false, rule });

function samePlain(a: string, g: string): AssignmentGrade {
  if (g === '') return no('no gold');
  if (a === '') return no('no answer');
  if (a === g) return { equal: true, rule: 'same plain text' };
  const [items, golds] = [elements(a), elements(g)];
  if (golds.length > 1 && (a[0] !== g[0] || a.at(-1) !== g.at(-1))) return no('different brackets');
  if (items.length !== golds.length) return no('different number of elements');
  for (const [i, item] of items.entries()) {
    const grade = sameElement(item, golds[i]!);
    if (!grade.equal) return grade;
  }
  return { equal: true, rule: golds.length > 1 ? 'same elements' : 'same expression' };
}

/** The elements between one pair of brackets, split at commas; the text itself without brackets. */
function elements(text: string): string[] {
  return /^[([][^()[\]]+[)\]]$/.test(text) ? text.slice(1, -1).split(',') : [text];
}

const isFraction = (text: string) => /^-?\d+\/0*[1-9]\d*$/.test(text);
const isWhole = (text: string) => /^[-+]?\d+(?:\.0*)?(?:e\+?\d+)?$/.test(text);

function sameElement(a: string, g: string): AssignmentGrade {
  if (a === g) return { equal: true, rule: 'same plain text' };
  if (isFraction(a) && isFraction(g)) return no('fraction not reduced');
  if (isWhole(a) !== isWhole(g)) return no('whole number against another');
  for (const text of [a, g]) {
    if (letters(text) > 2) return no('more than two letters');
    if (/\^[{(]|\^\d+\^|\^\d\d/.test(text)) return no('a power');
    if (/[±∓]/.test(text)) return no('not mathematics');
  }
  const work = new Work();
  try {
    const [x, y] = [a, g].map((text) => parseAnswer(text, work, { thousands: false }));
    if (x!.kind !== 'value' || y!.kind !== 'value' || !sameAnswer(x!, y!, work)) return no('different');
    return { equal: true, rule: 'same expression' };
  } catch (error) {
    if (!(error instanceof RefusalError)) throw error;
    return no(error.reason);
  }
}

/** Distinct letters but for those of sqrt and frac. */
const letters = (text: string) => new Set(text.replace(/sqrt|frac/g, '').match(/\p{L}/gu)).size;

/** Whether an answer equals one of the gold ones; the rule is that of the match, else of the last comparison. */
export function matchesAny(answer: string, golds: readonly string[], fast: boolean): AssignmentGrade {
  let grade: AssignmentGrade = no('no gold');
  for (const gold of golds) {
    grade = assignmentEqual(answer, lastBoxed(gold) ?? gold, fast);
    if (grade.equal) break;
  }
  return grade;
}
