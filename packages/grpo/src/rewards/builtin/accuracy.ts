import { finalAnswer } from '../final-answer.js';
import { lastBoxed } from '../math/boxed.js';
import { mathEqual } from '../math/math-equal.js';
import type { RewardFunction } from '../reward.js';

/** Whether a completion answers its row, and by which rule; null where the row's answer cannot be compared. */
export interface AnswerGrade {
  correct: boolean | null;
  rule: string;
}

/**
 * 1 for a right final answer, 0 for another or none, no opinion where the row's own answer cannot be read.
 *
 * @param answerKey - field of a row that holds the answer: that alone, in a box, or after `####`
 */
export function accuracy(answerKey: string): RewardFunction<unknown> {
  return ({ completions, rows }) =>
    completions.map((completion, i) => {
      const { correct, rule } = gradeAnswer(completion, rows[i], answerKey);
      return { value: correct === null ? null : Number(correct), rule };
    });
}

/** Grades the final answer of a completion against a row's. */
export function gradeAnswer(completion: string, row: unknown, answerKey: string): AnswerGrade {
  const stored = (row as Readonly<Record<string, unknown>> | null)?.[answerKey];
  if (stored === undefined || stored === null) return { correct: null, rule: `no ${answerKey} in the row` };
  const solution = String(stored);
  const gold = finalAnswer(solution) ?? solution;
  const { equal, rule } = mathEqual(statedAnswer(completion) ?? '', gold);
  return { correct: rule === 'no gold' || rule === 'gold too long' ? null : equal, rule };
}

/** Content of the last `\boxed{…}` after the thinking, else of the last `<answer>` tags there; null without either. */
export function statedAnswer(completion: string): string | null {
  const text = completion.split('</think>').at(-1)!;
  const boxed = lastBoxed(text);
  if (boxed !== null) return boxed;
  const end = text.lastIndexOf('</answer>');
  const start = end < 0 ? -1 : text.lastIndexOf('<answer>', end);
  return start < 0 ? null : text.slice(start + '<answer>'.length, end).trim();
}
