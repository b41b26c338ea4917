import type { Reward } from '../rewards/reward.js';
import { parseThinkAnswer } from '../rewards/think-answer.js';
import type { Task } from './task.js';

/** The right answer in the right format earns 1.1, a wrong one in the format 0.1, everything else 0. */
const ANSWER_WEIGHT = 1;
const FORMAT_WEIGHT = 0.1;

/** Where a completion in think/answer format ends. */
export const THINK_ANSWER_STOP = '</answer>';

/** How an answer was graded. */
export interface AnswerGrade {
  correct: boolean;
  rule: string;
  parts?: Readonly<Record<string, number>>;
}

/**
 * Rewards and accuracy of a task whose completions are `<think>…</think> <answer>…</answer>`.
 *
 * @param thinkOpened - whether prompts end in `<think>`
 * @param grade - grades the text in `<answer>`
 */
export function thinkAnswerGrading<Row>(options: {
  thinkOpened: boolean;
  grade: (answer: string, row: Row) => AnswerGrade;
}): Pick<Task<Row>, 'rewards' | 'isCorrect'> {
  const grade = (completion: string, row: Row): AnswerGrade => {
    const { answer, problem } = parseThinkAnswer(completion, options);
    return answer === null ? { correct: false, rule: problem } : options.grade(answer, row);
  };
  const rewards: Reward<Row>[] = [
    {
      name: 'answer',
      weight: ANSWER_WEIGHT,
      score: ({ completions, rows }) =>
        completions.map((text, i) => {
          const { correct, rule, parts } = grade(text, rows[i]!);
          return { value: Number(correct), rule, ...(parts && { parts }) };
        }),
    },
    {
      name: 'format',
      weight: FORMAT_WEIGHT,
      score: ({ completions }) =>
        completions.map((text) => {
          const { format, problem } = parseThinkAnswer(text, options);
          return { value: Number(format), rule: problem ?? 'all tags in place' };
        }),
    },
  ];
  return { rewards, isCorrect: (completion, row) => grade(completion, row).correct };
}

/** A completion in think/answer format, as a demonstration. */
export function thinkAnswer(
  think: string,
  answer: string,
  { thinkOpened }: { thinkOpened: boolean },
): string {
  return `${thinkOpened ? '' : '<think>'}${think}</think> <answer>${answer}</answer>`;
}
