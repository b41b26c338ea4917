/** A task written in code. The type of its rows flows into the prompt, the rewards and the grade. */
import { inspect } from 'node:util';
import { refuseUnknown } from '../config/unknown-option.js';
import { excerpt } from '../errors/printable.js';
import { UserError } from '../errors/user-error.js';
import { each } from '../rewards/each.js';
import type { CompletionScore, Reward, RewardFunction } from '../rewards/reward.js';
import type { Message, Prompt, Role } from '../text/message.js';
import { defaultEvalSize, holdOut, noneLeft, sharedWith } from './hold-out.js';
import type { Problem, Task } from './task.js';

/**
 * A reward of a task in code:
 * - a function `(completion, row, prompt)` of one completion, with weight 1;
 * - `{ each, weight }`: the same with a weight; with weight 0 it is logged and not trained on;
 * - `{ batch, weight }`: a function of the whole batch, where completions have to be compared.
 *
 * It returns a number, `null` for no opinion, or a promise of it; for a batch an array with one for each completion.
 */
export type TaskReward<Row> =
  | CompletionScore<Row>
  | { each: CompletionScore<Row>; weight?: number }
  | { batch: RewardFunction<Row>; weight?: number };

/** Definition of a task in code, for {@link defineTask}. */
export interface TaskDefinition<Row> {
  /** Names the run folder, and the task in `config.json`: letters, digits, `.`, `_` and `-`. */
  name: string;
  /** The data: one problem per row. A row can be of any type. */
  rows: readonly Row[];
  /** The prompt of a row: plain text, or messages for the model's chat template. */
  prompt(row: NoInfer<Row>): Prompt;
  /** Rewards by name, as the metrics call them. The total is the weighted sum. */
  rewards: Readonly<Record<string, TaskReward<NoInfer<Row>>>>;
  /** Whether a completion is right: evaluation then reports accuracy beside the rewards. */
  isCorrect?(completion: string, row: NoInfer<Row>): boolean;
  /** The completion that `sft` imitates; undefined for a row without one. */
  demonstration?(row: NoInfer<Row>): string | undefined;
  /** Strings that end a completion; they stay in it. */
  stop?: readonly string[];
  /** Rows to evaluate on, in place of some of `rows`. */
  evalRows?: readonly Row[];
  /**
   * How many of `rows` are held out for evaluation: chosen at random, and the same ones in every run. A fifth of them,
   * and at most 200, when left out.
   */
  evalSize?: number;
}

const OPTIONS = [
  'name',
  'rows',
  'prompt',
  'rewards',
  'isCorrect',
  'demonstration',
  'stop',
  'evalRows',
  'evalSize',
] as const satisfies readonly (keyof TaskDefinition<unknown>)[];

/**
 * Makes a task of rows and functions. The type of a row is inferred from `rows`.
 *
 * No problem that is held out is trained on: rows with the same prompt count as one problem.
 *
 * @example
 * import { defineTask } from 'grpo';
 *
 * const task = defineTask({
 *   name: 'sums',
 *   rows: [
 *     { a: 1, b: 2 },
 *     { a: 30, b: 4 },
 *   ],
 *   prompt: (row) => `${row.a} + ${row.b} =`,
 *   rewards: { right: (completion, row) => Number(completion.trim() === String(row.a + row.b)) },
 * });
 * console.log(task.train.length, task.eval.length); // 1 1
 *
 * @throws UserError when the definition makes no task, with the row that is to blame
 */
export function defineTask<Row>(definition: TaskDefinition<Row>): Task<Row> {
  const { name, rows, evalRows, stop = [], isCorrect } = definition;
  refuseUnknown('defineTask()', definition, OPTIONS);
  if (typeof name !== 'string' || !/^[\w.-]+$/.test(name))
    throw new UserError(`a task's name is made of letters, digits, '.', '_' and '-', found '${name}'`);
  const at = `task ${name}`;
  if (!Array.isArray(stop) || stop.some((text) => typeof text !== 'string' || text === ''))
    throw new UserError(`${at}: stop must be a list of non-empty strings`);
  const rewards = Object.entries(definition.rewards).map(([key, reward]) => rewardOf(at, key, reward));
  const problems = problemsOf(`${at}: rows`, rows, definition);
  const split =
    evalRows === undefined
      ? splitRows(at, problems, definition.evalSize)
      : { train: problems, held: problemsOf(`${at}: evalRows`, evalRows, definition) };
  if (evalRows !== undefined) requireDisjoint(at, split.train, split.held);
  const task: Task<Row> = { name, train: split.train, eval: split.held, rewards, stop: [...stop] };
  return isCorrect ? { ...task, isCorrect } : task;
}

function problemsOf<Row>(
  where: string,
  rows: readonly Row[],
  { prompt, demonstration }: TaskDefinition<Row>,
): Problem<Row>[] {
  if (!Array.isArray(rows) || rows.length === 0) throw new UserError(`${where} needs at least one row`);
  return rows.map((row: Row, i) => {
    const asked = prompt(row);
    if (!isPrompt(asked)) {
      throw new UserError(
        `${where}[${i}]: prompt returned ${shown(asked)}, expected text or [{ role, content }, …]`,
      );
    }
    const answer = demonstration?.(row);
    if (answer !== undefined && typeof answer !== 'string')
      throw new UserError(
        `${where}[${i}]: demonstration returned ${shown(answer)}, expected text or undefined`,
      );
    return { prompt: asked, row, ...(answer !== undefined && { demonstration: answer }) };
  });
}

const keyOf = ({ prompt }: Problem) => JSON.stringify(prompt);

function splitRows<Row>(at: string, problems: Problem<Row>[], evalSize = defaultEvalSize(problems.length)) {
  if (!Number.isSafeInteger(evalSize) || evalSize < 1)
    throw new UserError(`${at}: evalSize must be a whole number >= 1, found ${shown(evalSize)}`);
  const split = holdOut(problems, evalSize, keyOf);
  if (split.train.length > 0) return split;
  throw new UserError(`${at}: ${noneLeft(problems, evalSize, keyOf)}`, {
    hint: 'Give more rows, a lower evalSize, or evalRows.',
  });
}

function requireDisjoint(at: string, train: readonly Problem[], held: readonly Problem[]): void {
  const shared = sharedWith(held, train, keyOf);
  if (shared.length === 0) return;
  throw new UserError(
    `${at}: ${shared.length} of the rows ask the same as a row of evalRows, such as ${excerpt(keyOf(shared[0]!))}`,
    { hint: 'Remove them from one of the two, or the evaluation would contain training problems.' },
  );
}

function rewardOf<Row>(at: string, name: string, reward: TaskReward<Row>): Reward<Row> {
  const { weight = 1, ...scores } = typeof reward === 'function' ? { each: reward } : { ...reward };
  const [[kind, score] = [], ...more] = Object.entries(scores);
  if (typeof score !== 'function' || more.length > 0 || !(kind === 'each' || kind === 'batch')) {
    throw new UserError(`${at}: the reward ${name} is ${shown(reward)}`, {
      hint: 'A reward is a function of a completion and its row, or { each: FUNCTION, weight }, or { batch: FUNCTION, weight }.',
    });
  }
  if (!Number.isFinite(weight))
    throw new UserError(`${at}: the weight of the reward ${name} must be a number, found ${shown(weight)}`);
  return 'batch' in scores
    ? { name, weight, score: scores.batch }
    : { name, weight, score: each(scores.each) };
}

function isPrompt(value: unknown): value is Prompt {
  if (typeof value === 'string') return value !== '';
  return Array.isArray(value) && value.length > 0 && value.every(isMessage);
}

const ROLES: readonly unknown[] = ['system', 'user', 'assistant', 'tool'] satisfies Role[];

function isMessage(value: unknown): boolean {
  const { role, content } = (value ?? {}) as Partial<Message>;
  return ROLES.includes(role) && typeof content === 'string';
}

const shown = (value: unknown) => inspect(value, { depth: 1, breakLength: Infinity, maxStringLength: 80 });
