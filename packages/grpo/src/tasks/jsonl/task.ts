/**
 * A task from rows of a file: `{"question": "…", "answer": "… #### 72"}`, graded as `task.grading` says. Without grading only
 * the question is needed; the user's rewards get the whole row.
 */
import { FormatError } from '../../errors/format-error.js';
import { type Row, readRows } from '../../formats/read-rows.js';
import { type PromptSettings, type PromptTemplate, promptTemplate } from '../prompt.js';
import { type ProblemFiles, readSplit } from '../split.js';
import type { Problem, Task } from '../task.js';
import { type Grading, gradings } from './grading.js';
import { goldOf, type Item, itemOf, type RowKeys } from './row.js';

export interface JsonlOptions extends ProblemFiles, RowKeys, PromptSettings {}

/**
 * Loads the task. What is held out, see {@link readSplit}.
 *
 * A row's demonstration is its worked solution as thinking: the answer, where that ends in `####` or a box, or the
 * row's `solution`. Without grading it is the answer as it is, if that is text.
 *
 * @throws FormatError naming file, line and key; FileError; UserError for the prompt file
 */
export async function jsonlTask(options: JsonlOptions): Promise<Task<Row>> {
  const grading = gradingOf(options);
  const template = jsonlTemplate(options);
  const read = (path: string) => readItems(path, options);
  const { train, held } = await readSplit(options, read, ({ question }) => question);
  const problem = (item: Item): Problem<Row> => {
    const shown = grading ? workedDemonstration(item, grading, template) : item.worked;
    return { prompt: template.render(item.question), row: item.row, ...(shown && { demonstration: shown }) };
  };
  const task = { name: 'jsonl', train: train.map(problem), eval: held.map(problem) };
  if (!grading) return { ...task, rewards: [], stop: [] };
  const { rewards, stop } = grading;
  const gold = (row: Row) => goldOf(row, options.answerKey);
  return {
    ...task,
    ...rewards(template, gold),
    canaries: ({ row }) => ({ gold: grading.demonstration('', gold(row), template) }),
    stop: [...stop],
  };
}

const gradingOf = ({ grading }: Pick<RowKeys, 'grading'>): Grading | undefined =>
  grading === 'none' ? undefined : gradings[grading];

/** How the task asks. */
export const jsonlTemplate = (options: PromptSettings & Pick<RowKeys, 'grading'>) =>
  promptTemplate({
    instructions: gradingOf(options)?.instructions ?? 'none',
    file: options.prompt,
    system: options.system,
  });

async function readItems(path: string, keys: RowKeys): Promise<Item[]> {
  return (await readRows(path)).map(({ line, value }) => {
    const item = itemOf(value, keys);
    if ('problem' in item) throw new FormatError(path, item.problem, { line });
    return item;
  });
}

/** The worked solution in the format that is rewarded; empty where there is none. */
function workedDemonstration(
  { worked = '', gold = '' }: Item,
  { demonstration }: Grading,
  template: PromptTemplate,
): string {
  const thinking = thinkingOf(worked);
  return thinking && demonstration(thinking, gold, template);
}

/** A worked solution without the final answer after `####`, and without GSM8K's `<<…>>` calculator marks. */
function thinkingOf(worked: string): string {
  const end = worked.lastIndexOf('####');
  const text = end < 0 ? worked : worked.slice(0, end);
  return text.replace(/<<[^<>]*>>/g, '').trim();
}
