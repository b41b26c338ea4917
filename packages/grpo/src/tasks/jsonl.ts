/**
 * A task from JSON Lines. With numeric grading a row is `{"question": "…", "answer": "… #### 72"}`, and completions are
 * graded in think/answer format. Without grading only the question is needed; the user's rewards get the whole row.
 */
import { EmptyFile, excerpt, FormatError, printable } from '../formats/format-error.js';
import { shown } from '../formats/json.js';
import { readRows } from '../formats/jsonl.js';
import { goldAnswer, parseDecimal } from '../rewards/numeric.js';
import { holdOut, sharedWith } from './hold-out.js';
import { type PromptTemplate, promptTemplate } from './prompt.js';
import type { Problem, Task } from './task.js';
import { THINK_ANSWER_STOP, thinkAnswer, thinkAnswerGrading } from './think-answer.js';

export interface JsonlOptions {
  /** Path of the problems. */
  data: string;
  /** Path of the held-out problems; all of its rows are used, in order. */
  evalData?: string | undefined;
  /** Rows of `data` that are held out when there is no `evalData`. */
  evalSize: number;
  grading: 'numeric' | 'none';
  /** Path of the user's prompt, see {@link promptTemplate}. */
  prompt?: string | undefined;
  system?: string | undefined;
  questionKey: string;
  answerKey: string;
}

/** A line of the file. */
type Row = Record<string, unknown>;

interface Item {
  question: string;
  /** The answer's text as the file has it, worked solution included; without grading a row may have none. */
  solution: string | undefined;
  row: Row;
}

/**
 * Loads the task. Without `evalData`, `evalSize` rows are held out: chosen at random, and the same ones in every
 * run with this file and size. No question that is held out is trained on.
 *
 * A row's demonstration, where its answer has a worked solution before `####`, is that solution as thinking. Without
 * grading it is the answer as it is, if that is text.
 *
 * @throws FormatError naming file, line and key; FileError; UserError for the prompt file
 */
export async function jsonlTask(options: JsonlOptions): Promise<Task<Row>> {
  const graded = options.grading === 'numeric';
  const template = promptTemplate({
    instructions: graded ? 'think/answer' : 'none',
    file: options.prompt,
    system: options.system,
  });
  const items = await readItems(options.data, options);
  const { train, held } =
    options.evalData === undefined
      ? split(options.data, items, options.evalSize)
      : { train: items, held: await readItems(options.evalData, options) };
  if (options.evalData !== undefined) checkDisjoint(options.data, train, options.evalData, held);
  const problem = (item: Item): Problem<Row> => {
    const shown = graded ? workedDemonstration(item, template) : item.solution;
    return { prompt: template.render(item.question), row: item.row, ...(shown && { demonstration: shown }) };
  };
  const task = { name: 'jsonl', train: train.map(problem), eval: held.map(problem) };
  if (!graded) return { ...task, rewards: [], stop: [] };
  return {
    ...task,
    ...thinkAnswerGrading({
      thinkOpened: template.thinkOpened,
      gold: (row: Row) => String(row[options.answerKey]),
    }),
    stop: [THINK_ANSWER_STOP],
  };
}

async function readItems(path: string, { questionKey, answerKey, grading }: JsonlOptions): Promise<Item[]> {
  const rows = await readRows(path);
  return rows.map(({ line, value: row }) => {
    const question = text(path, line, row, questionKey, 'questionKey');
    if (question.trim() === '') throw new FormatError(path, `${questionKey} is empty`, { line });
    if (grading === 'none') {
      const answer = Object.hasOwn(row, answerKey) ? row[answerKey] : undefined;
      return { question, solution: typeof answer === 'string' ? answer : undefined, row };
    }
    const solution = text(path, line, row, answerKey, 'answerKey');
    const gold = goldAnswer(solution);
    if (parseDecimal(gold) === null) {
      const where = solution.includes('####') ? 'what follows #### in ' : '';
      const hint = 'task.grading=none takes any answer, or none, with rewards of your own';
      throw new FormatError(path, `${where}${answerKey} must be a number, found ${excerpt(gold)}; ${hint}`, {
        line,
      });
    }
    return { question, solution, row };
  });
}

/** A row's text under a key; numbers count as text. */
function text(
  path: string,
  line: number,
  row: Row,
  key: string,
  setting: 'questionKey' | 'answerKey',
): string {
  const value = Object.hasOwn(row, key) ? row[key] : undefined;
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  if (value !== undefined) {
    throw new FormatError(path, `${key} must be text or a number, found ${shown(value)}`, { line });
  }
  const keys = Object.keys(row);
  const listed = keys.slice(0, 12).map((name) => printable(name, 40));
  const found = [...listed, ...(keys.length > 12 ? ['…'] : [])].join(', ') || 'no keys';
  const ungraded = setting === 'answerKey' ? ', or task.grading=none with rewards of your own' : '';
  const advice = `set task.${setting} to the key that holds it${ungraded}`;
  throw new FormatError(path, `no key ${excerpt(key)}; the row has ${found}; ${advice}`, { line });
}

const questionOf = (item: Item) => item.question;

function split(path: string, items: Item[], size: number): { train: Item[]; held: Item[] } {
  const parts = holdOut(items, size, questionOf);
  if (parts.train.length > 0) return parts;
  const problem = `holding out ${size} of ${items.length} rows leaves none to train on; lower task.evalSize`;
  throw new EmptyFile(path, problem);
}

function checkDisjoint(path: string, train: Item[], evalPath: string, held: Item[]): void {
  const shared = sharedWith(held, train, questionOf);
  if (shared.length === 0) return;
  const first = excerpt(shared[0]!.question);
  throw new FormatError(
    evalPath,
    `${shared.length} questions are also in ${path}, such as ${first}; remove them from one of the files, or evaluation would be on what was trained`,
  );
}

/** The worked solution in think/answer format; empty where there is none. */
function workedDemonstration({ solution = '' }: Item, template: PromptTemplate): string {
  const thinking = workedSolution(solution);
  return thinking && thinkAnswer(thinking, goldAnswer(solution), template);
}

/** What stands before the last `####`, without GSM8K's `<<…>>` calculator marks; empty without a `####`. */
function workedSolution(solution: string): string {
  const end = solution.lastIndexOf('####');
  return end < 0
    ? ''
    : solution
        .slice(0, end)
        .replace(/<<[^<>]*>>/g, '')
        .trim();
}
