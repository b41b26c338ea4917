/** Hallucination: questions in the layouts of HaluEval, answered with evidence. */

import type { Row } from '../../formats/read-rows.js';
import { each } from '../../rewards/each.js';
import { readGroups } from '../group-split.js';
import { appendInstructions, promptTemplate } from '../prompt.js';
import { orProblem } from '../row-fields.js';
import type { ProblemFiles } from '../split.js';
import type { Problem, Task } from '../task.js';
import { wordsOf } from '../words.js';
import { bothAnswers, demonstration, instructionsFor, questionText } from './prompt.js';
import { hallucinationReward, isTruthful } from './reward.js';
import { hallucinationQuestion, haluevalRow } from './row.js';

export interface HaluevalOptions extends ProblemFiles {
  /** Path of the user's prompt, in which `{question}` becomes the row's text and question. */
  prompt?: string | undefined;
  system?: string | undefined;
}

/**
 * Loads the task; rows of all four layouts may be mixed. Rows of one text (knowledge, document, or query) are all trained
 * on or all held out.
 *
 * @throws FormatError naming file and line
 */
export async function haluevalTask(options: HaluevalOptions): Promise<Task<Row>> {
  const { train, held } = await readGroups(options, {
    read: (row) => orProblem(() => haluevalRow(row)),
    group: (row) => wordsOf(String(row.knowledge ?? row.document ?? row.user_query)).join(' '),
    what: 'text (knowledge, document or query)',
  });
  const { prompt: file, system } = options;
  const template = promptTemplate({ instructions: 'none', file, system });
  const problem = (row: Row): Problem<Row> => {
    const asked = questionText(row);
    const text = file === undefined ? appendInstructions(asked, instructionsFor(row), options) : asked;
    const shown = demonstration(hallucinationQuestion(row));
    return { prompt: template.render(text), row, demonstration: shown };
  };
  return {
    name: 'halueval',
    train: train.map(problem),
    eval: held.map(problem),
    rewards: [
      {
        name: 'hallucination',
        weight: 1,
        score: each((completion, row: Row) => hallucinationReward(completion, hallucinationQuestion(row))),
      },
    ],
    canaries: ({ row }) => ({ options: bothAnswers(hallucinationQuestion(row)) }),
    isCorrect: (completion, row) => isTruthful(completion, hallucinationQuestion(row)),
    stop: [],
  };
}
