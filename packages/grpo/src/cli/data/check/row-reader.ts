import { UserError } from '../../../config/index.js';
import type { Config } from '../../../config/schema.js';
import type { Row } from '../../../formats/read-rows.js';
import type { CountdownProblem } from '../../../tasks/countdown/grade.js';
import { countdownProblem, countdownTemplate, problemKey } from '../../../tasks/countdown/task.js';
import { itemOf, type RowProblem } from '../../../tasks/jsonl/row.js';
import { jsonlTemplate } from '../../../tasks/jsonl/task.js';
import type { PromptTemplate } from '../../../tasks/prompt.js';

/** How a task reads its rows. */
export interface RowReader {
  /** The question of a row, or the problem with it. */
  read(row: Row): { question: string } | RowProblem;
  template: PromptTemplate;
}

/** @throws UserError for a task whose rows are of another kind */
export function rowReader(task: Config['task']): RowReader {
  const { name = 'jsonl' } = task;
  if (name === 'jsonl') return { read: (row) => itemOf(row, task), template: jsonlTemplate(task) };
  if (name !== 'countdown') {
    throw new UserError(`grpo data check reads problems of task.name=jsonl and countdown, not of ${name}`);
  }
  return {
    read: (row) => {
      const problem = countdownProblem(row);
      if (problem === undefined) return { question: problemKey(row as unknown as CountdownProblem) };
      const missing = problem.startsWith('no key');
      return { kind: missing ? 'no question' : 'cannot be graded', problem };
    },
    template: countdownTemplate(task),
  };
}
