import type { ResolvedConfig } from '../config/index.js';
import { UserError } from '../errors/user-error.js';
import { placeOf } from '../formats/read-rows.js';
import type { Model } from '../models/index.js';
import { Watch } from '../progress/watch.js';
import type { Problem, Task } from '../tasks/task.js';
import { mostTokens, renderExample, renderPrompt } from '../text/render.js';

/**
 * Looks for rows that are too long for the model's context: a prompt that leaves no room for a completion, or for SFT a
 * demonstration that does not fit.
 *
 * @throws UserError naming file and line of the first such row, and how many there are
 */
export function requireRowsFit(
  model: Model,
  task: Task,
  { command, config }: ResolvedConfig,
  watch = new Watch(),
): void {
  const { maxPositions } = model.decoder.config;
  const rows = rowsOf(task, command, config.eval.limit);
  const tooLong: string[] = [];
  for (const [done, { problem, demonstration, name }] of rows.entries()) {
    watch.report({ stage: 'checking row lengths', done, total: rows.length, unit: 'rows' });
    const tokens = excess(model, problem, demonstration);
    if (tokens !== undefined) {
      const what = demonstration === undefined ? 'prompt' : 'prompt with its demonstration';
      tooLong.push(`${nameOf(task, problem, name)}: the ${what} has ${tokens} tokens`);
    }
  }
  const [first] = tooLong;
  if (first === undefined) return;
  const more = tooLong.length > 1 ? ` (${tooLong.length} rows in all are too long)` : '';
  throw new UserError(`${first}, and the model's context holds ${maxPositions}${more}`, {
    hint: 'Shorten or leave out such rows; npx grpo data check counts them.',
  });
}

/** The rows that a run reads, with the demonstrations that SFT learns from. */
function rowsOf(task: Task, command: ResolvedConfig['command'], held: number) {
  const isSft = command === 'sft';
  return [
    ...task.train.flatMap((problem, i) => {
      const demonstration = isSft ? problem.demonstration : undefined;
      return isSft && demonstration === undefined
        ? []
        : [{ problem, demonstration, name: `training row ${i + 1}` }];
    }),
    ...task.eval
      .slice(0, held)
      .map((problem, i) => ({ problem, demonstration: undefined, name: `held-out row ${i + 1}` })),
  ];
}

/** A problem by its file and line, or else by its place in the task. */
const nameOf = ({ name }: Task, { row }: Problem, place: string) => placeOf(row) ?? `task ${name}, ${place}`;

/** Half a character, as JSON writes it: a backslash of the text itself has another before it. */
const HALF = /(?<!\\)(?:\\\\)*\\u(d[89a-f]\w\w)/;

/**
 * Looks for rows with half a character, which no tokenizer can read.
 *
 * @throws UserError naming file and line of the first such row
 */
export function requireWholeCharacters(task: Task, command: ResolvedConfig['command']): void {
  for (const { problem, demonstration, name } of rowsOf(task, command, task.eval.length)) {
    const half = HALF.exec(JSON.stringify([problem.prompt, demonstration]))?.[1];
    if (half === undefined) continue;
    throw new UserError(
      `${nameOf(task, problem, name)}: a text holds half a character (the lone surrogate U+${half.toUpperCase()}), which no tokenizer can read`,
      { hint: 'Repair the row, or leave it out.' },
    );
  }
}

/** Tokens of a row, if these are too many. */
function excess(model: Model, { prompt }: Problem, demonstration: string | undefined): number | undefined {
  const { tokenizer, template, endIds } = model;
  const { maxPositions } = model.decoder.config;
  // A completion has one token at least: of a demonstration that may be the end token.
  const bound = 1 + (demonstration === undefined ? 0 : tokenizer.mostTokens(demonstration));
  if (mostTokens(tokenizer, template, prompt) + bound <= maxPositions) return undefined;
  if (demonstration === undefined) {
    const { length } = renderPrompt(tokenizer, template, prompt).ids;
    return length >= maxPositions ? length : undefined;
  }
  const [endId] = endIds;
  const { length } = renderExample(tokenizer, template, prompt, demonstration, { endId: endId! }).ids;
  return length > maxPositions ? length : undefined;
}
