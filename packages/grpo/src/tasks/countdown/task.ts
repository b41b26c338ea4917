/** The Countdown game: make a target of given numbers. Rows are `{"nums": [3, 5, 7], "target": 36}`. */
import { FormatError } from '../../errors/format-error.js';
import { excerpt } from '../../errors/printable.js';
import { describeJson } from '../../formats/json.js';
import { type Row, readRows } from '../../formats/read-rows.js';
import { type PromptSettings, type PromptTemplate, promptTemplate } from '../prompt.js';
import { keysOf } from '../row-fields.js';
import { type ProblemFiles, readSplit } from '../split.js';
import type { Problem, Task } from '../task.js';
import { THINK_ANSWER_STOP, thinkAnswer, thinkAnswerGrading } from '../think-answer-grading.js';
import { workOut } from './expression.js';
import { type CountdownProblem, gradeCountdown } from './grade.js';

/** More cannot be asked in a sentence. */
const MAX_NUMBERS = 20;

/** A row; with a solution, which SFT imitates. */
export interface CountdownRow extends CountdownProblem {
  /** An expression that makes the target: `3 * (5 + 7)`. */
  solution?: string;
}

/**
 * Loads the task. A row's demonstration, where it has a solution, is that solution worked out step by step.
 *
 * @throws FormatError naming file, line and key; FileError; UserError for the prompt file
 */
export async function countdownTask(options: ProblemFiles & PromptSettings): Promise<Task<CountdownRow>> {
  const template = countdownTemplate(options);
  const { train, held } = await readSplit(options, readProblems, problemKey);
  const problem = (row: CountdownRow): Problem<CountdownRow> => {
    const demonstration = demonstrationOf(row, template);
    return { prompt: template.render(questionOf(row)), row, ...(demonstration && { demonstration }) };
  };
  const { thinkOpened } = template;
  return {
    name: 'countdown',
    train: train.map(problem),
    eval: held.map(problem),
    ...thinkAnswerGrading({ thinkOpened, grade: gradeCountdown }),
    stop: [THINK_ANSWER_STOP],
  };
}

/** How the task asks. */
export const countdownTemplate = ({ prompt, system }: PromptSettings) =>
  promptTemplate({ instructions: 'expression', file: prompt, system });

/** The question of a row, in words. */
export function questionOf({ nums, target }: CountdownProblem): string {
  const [last, ...others] = [...nums].reverse();
  return `Use each of the numbers ${others.reverse().join(', ')} and ${last} exactly once to make ${target}.`;
}

/** Equal for two rows that ask the same, in whichever order. */
export const problemKey = ({ nums, target }: CountdownProblem): string =>
  questionOf({ nums: [...nums].sort((a, b) => a - b), target });

async function readProblems(path: string): Promise<CountdownRow[]> {
  return (await readRows(path)).map(({ line, value }) => {
    const problem = countdownProblem(value);
    if (problem !== undefined) throw new FormatError(path, problem, { line });
    return value as unknown as CountdownRow;
  });
}

/** Why a row cannot be used; undefined for a good one. */
export function countdownProblem(row: Row): string | undefined {
  const { nums, target, solution } = row;
  const missing = ['nums', 'target'].find((key) => row[key] === undefined);
  if (missing !== undefined) {
    return `no key "${missing}"; the row has ${keysOf(row)}; grpo data convert renames keys`;
  }
  if (!Array.isArray(nums) || nums.length < 2 || nums.length > MAX_NUMBERS || !nums.every(isCount))
    return `nums must be 2 to ${MAX_NUMBERS} whole numbers >= 0, found ${describeJson(nums)}`;
  if (!Number.isSafeInteger(target)) return `target must be a whole number, found ${describeJson(target)}`;
  if (solution === undefined || solution === null) return undefined;
  if (typeof solution !== 'string') return `solution must be an expression, found ${describeJson(solution)}`;
  const { correct, rule } = gradeCountdown(solution, { nums, target: target as number });
  return correct ? undefined : `solution ${excerpt(solution)} is not a valid expression: ${rule}`;
}

const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;

function demonstrationOf({ solution }: CountdownRow, template: PromptTemplate): string | undefined {
  const [expression] = solution?.split('=') ?? [];
  const worked = expression === undefined ? undefined : workOut(expression);
  if (worked === undefined || 'unreadable' in worked) return undefined;
  return thinkAnswer(worked.steps.join('; '), expression!.trim(), template);
}
