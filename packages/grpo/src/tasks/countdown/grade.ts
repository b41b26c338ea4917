/** Grading of the Countdown game: an expression that uses each given number once and makes the target. */
import { isEqual } from '../../rewards/math/rational.js';
import { type Unreadable, workOut } from './expression.js';

/** A problem: `{"nums": [3, 5, 7], "target": 36}`. */
export interface CountdownProblem {
  nums: readonly number[];
  target: number;
}

/** How a grade was decided. */
export interface CountdownGrade {
  correct: boolean;
  rule:
    | 'makes the target'
    | 'another value'
    | 'a number that is not given'
    | 'a number too often'
    | 'a number left out'
    | 'two equal signs'
    | 'the right side is not the target'
    | Unreadable;
  /** `numbers`: 1 where each number is used once; `target`: 1 where the value is the target. */
  parts: { numbers: number; target: number };
}

/**
 * Grades an answer: an expression, with or without `= target` after it. Every number must be used exactly once, and the
 * value, as an exact fraction, must be the target. Nothing is evaluated but + - * / and parentheses.
 */
export function gradeCountdown(answer: string, { nums, target }: CountdownProblem): CountdownGrade {
  const refused = (rule: CountdownGrade['rule']) => ({
    correct: false,
    rule,
    parts: { numbers: 0, target: 0 },
  });
  const [expression = '', right, ...more] = answer.split('=');
  if (more.length > 0) return refused('two equal signs');
  const worked = workOut(expression);
  if ('unreadable' in worked) return refused(worked.unreadable);
  const goal = { n: BigInt(target), d: 1n };
  const use = useOf(worked.numbers, nums.map(BigInt));
  const hits = isEqual(worked.value, goal);
  const parts = { numbers: Number(use === undefined), target: Number(hits) };
  if (use !== undefined) return { correct: false, rule: use, parts };
  if (!hits) return { correct: false, rule: 'another value', parts };
  if (right !== undefined && !isValue(right, goal)) {
    return { correct: false, rule: 'the right side is not the target', parts };
  }
  return { correct: true, rule: 'makes the target', parts };
}

function isValue(text: string, goal: { n: bigint; d: bigint }): boolean {
  const worked = workOut(text);
  return !('unreadable' in worked) && worked.numbers.length === 1 && isEqual(worked.value, goal);
}

/** The rule that the used numbers break; undefined for none. */
function useOf(used: readonly bigint[], given: readonly bigint[]) {
  const left = [...given];
  for (const number of used) {
    const at = left.indexOf(number);
    if (at >= 0) left.splice(at, 1);
    else return given.includes(number) ? 'a number too often' : 'a number that is not given';
  }
  return left.length > 0 ? 'a number left out' : undefined;
}
