import { gradeNumeric } from '../rewards/numeric.js';
import type { Reward } from '../rewards/reward.js';
import { parseThinkAnswer } from '../rewards/think-answer.js';
import type { Task } from './task.js';

/** The right answer in the right format earns 1.1, a wrong one in the format 0.1, everything else 0. */
const ANSWER_WEIGHT = 1;
const FORMAT_WEIGHT = 0.1;

/** Where a completion in think/answer format ends. */
export const THINK_ANSWER_STOP = '</answer>';

/**
 * Rewards and accuracy of a task whose completions are `<think>…</think> <answer>number</answer>`.
 *
 * @param thinkOpened - whether prompts end in `<think>`
 * @param gold - the right number of a row
 */
export function thinkAnswerGrading<Row>(options: {
  thinkOpened: boolean;
  gold: (row: Row) => string;
}): Pick<Task<Row>, 'rewards' | 'isCorrect'> {
  const isCorrect = (completion: string, row: Row): boolean => {
    const { answer } = parseThinkAnswer(completion, options);
    return answer !== null && gradeNumeric(answer, options.gold(row)).correct;
  };
  const rewards: Reward<Row>[] = [
    {
      name: 'answer',
      weight: ANSWER_WEIGHT,
      score: ({ completions, rows }) => completions.map((text, i) => Number(isCorrect(text, rows[i]!))),
    },
    {
      name: 'format',
      weight: FORMAT_WEIGHT,
      score: ({ completions }) => completions.map((text) => Number(parseThinkAnswer(text, options).format)),
    },
  ];
  return { rewards, isCorrect };
}

/** A completion in think/answer format, as a demonstration. */
export function thinkAnswer(
  think: string,
  answer: string,
  { thinkOpened }: { thinkOpened: boolean },
): string {
  return `${thinkOpened ? '' : '<think>'}${think}</think> <answer>${answer}</answer>`;
}
