/** The ways to grade problems of a file: instructions, rewards, and the end of a completion. */
import type { Config } from '../../config/schema.js';
import type { Row } from '../../formats/read-rows.js';
import { type GraderVerdict, questionOnlyReward, r1ZeroReward } from '../../rewards/math/graders.js';
import { mathEqual } from '../../rewards/math/math-equal.js';
import { gradeNumeric } from '../../rewards/numeric.js';
import type { Instructions, PromptTemplate } from '../prompt.js';
import type { Task } from '../task.js';
import { THINK_ANSWER_STOP, thinkAnswer, thinkAnswerGrading } from '../think-answer-grading.js';

export type GradingName = Exclude<Config['task']['grading'], 'none'>;

export interface Grading {
  instructions: Instructions;
  /** @param goldOf - the right answer of a row */
  rewards(template: PromptTemplate, goldOf: (row: Row) => string): Pick<Task<Row>, 'rewards' | 'isCorrect'>;
  /** A completion that earns the full reward. */
  demonstration(thinking: string, gold: string, template: PromptTemplate): string;
  stop: string[];
}

const ANSWERED = { demonstration: thinkAnswer, stop: [THINK_ANSWER_STOP] };

export const gradings: Readonly<Record<GradingName, Grading>> = {
  numeric: {
    ...ANSWERED,
    instructions: 'number',
    rewards: ({ thinkOpened }, goldOf) =>
      thinkAnswerGrading({ thinkOpened, grade: (answer, row) => gradeNumeric(answer, goldOf(row)) }),
  },
  math: {
    ...ANSWERED,
    instructions: 'mathematics',
    rewards: ({ thinkOpened }, goldOf) =>
      thinkAnswerGrading({
        thinkOpened,
        grade: (answer, row) => {
          const { equal, rule } = mathEqual(answer, goldOf(row));
          return { correct: equal, rule };
        },
      }),
  },
  r1_zero: {
    ...ANSWERED,
    instructions: 'r1_zero',
    rewards: (_, goldOf) => byVerdict('r1_zero', (text, row) => r1ZeroReward(text, goldOf(row))),
  },
  question_only: {
    instructions: 'none',
    rewards: (_, goldOf) => byVerdict('question_only', (text, row) => questionOnlyReward(text, goldOf(row))),
    demonstration: (thinking, gold) =>
      thinking.includes('\\boxed') ? thinking : `${thinking}\nThe answer is \\boxed{${gold}}.`,
    stop: [],
  },
};

/** One reward, of which accuracy is the share of ones. */
function byVerdict(
  name: string,
  grade: (completion: string, row: Row) => GraderVerdict,
): Pick<Task<Row>, 'rewards' | 'isCorrect'> {
  return {
    rewards: [
      {
        name,
        weight: 1,
        score: ({ completions, rows }) => completions.map((text, i) => grade(text, rows[i]!)),
      },
    ],
    isCorrect: (completion, row) => grade(completion, row).value === 1,
  };
}
