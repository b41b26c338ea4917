/** Completions whose worth is known, made of a task's own rows: canaries for its rewards. */

import { isObject } from '../../formats/json.js';
import { permutation } from '../../maths/random.js';
import { CANARY, type CanaryKind } from '../../trace/canary-kinds.js';
import type { Problem, Task } from '../task.js';
import { type FramedAnswer, findAnswer } from './frame.js';

export interface Canary {
  kind: CanaryKind;
  completion: string;
}

/** The canaries of one row, the gold answer first. */
export interface CanaryGroup<Row = unknown> {
  problem: Problem<Row>;
  gold: string;
  canaries: Canary[];
}

/** Rows that canaries are made of, unless asked otherwise. */
export const CANARY_ROWS = 8;

/** Rows among which another gold answer is looked for. */
const POOL = 32;
/** Characters of a repeated answer: more than any answer has. */
const REPEATED = 4096;
const RANDOM_KEY = 0xca9a;

/**
 * Makes the canaries of a few rows, drawn by the seed from the training rows that have a gold answer. None where no row
 * has one.
 *
 * @param draw - another number draws other rows
 */
export function canaryGroups<Row>(
  task: Task<Row>,
  { seed, rows = CANARY_ROWS, draw = 0 }: { seed: number; rows?: number; draw?: number },
): CanaryGroup<Row>[] {
  const pool: AnsweredProblem<Row>[] = [];
  for (const index of permutation(task.train.length, seed, RANDOM_KEY, draw)) {
    const problem = task.train[index]!;
    const { gold = problem.demonstration, options } = task.canaries?.(problem) ?? {};
    if (gold?.trim()) pool.push({ problem, gold, options });
    if (pool.length === Math.max(POOL, rows)) break;
  }
  return pool.slice(0, rows).map((answered, i) => {
    // Each row tries the others from its own place on, so that not all take the same.
    const others = [...pool.slice(i + 1), ...pool.slice(0, i)].filter((one) => sameTask(one, answered));
    return { problem: answered.problem, gold: answered.gold, canaries: canariesOf(task, answered, others) };
  });
}

interface AnsweredProblem<Row> {
  problem: Problem<Row>;
  gold: string;
  options: string | undefined;
}

function canariesOf<Row>(
  task: Task<Row>,
  own: AnsweredProblem<Row>,
  others: readonly AnsweredProblem<Row>[],
): Canary[] {
  const { gold, problem } = own;
  const frame = findAnswer(gold);
  const made: Record<CanaryKind, string | undefined> = {
    [CANARY.gold]: gold,
    [CANARY.empty]: '',
    [CANARY.spaces]: '   ',
    [CANARY.newline]: '\n',
    [CANARY.prompt]: lastOf(problem),
    [CANARY.format]: frame?.replaced(''),
    [CANARY.options]: own.options ?? frame?.replaced(allAnswers(frame.answer, others)),
    [CANARY.other]: otherGold(task, own, others),
    [CANARY.smaller]: frame && nearNumber(frame, -1),
    [CANARY.larger]: frame && nearNumber(frame, 1),
    [CANARY.repeated]: `${gold}\n`.repeat(Math.ceil(REPEATED / (gold.length + 1))),
  };
  return Object.values(CANARY).flatMap((kind) =>
    made[kind] === undefined || (kind !== CANARY.gold && made[kind] === gold)
      ? []
      : [{ kind, completion: made[kind] }],
  );
}

/** The answer among others, neither first nor last: digits around a number, answers of other rows around anything else. */
function allAnswers<Row>(answer: string, others: readonly AnsweredProblem<Row>[]): string {
  const more = /^[-+$\d.,\s]+$/.test(answer)
    ? [...'0123456789']
    : others.slice(0, 6).flatMap(({ gold }) => findAnswer(gold)?.answer ?? []);
  const rest = more.filter((text) => text !== answer);
  const middle = Math.ceil(rest.length / 2);
  return [...rest.slice(0, middle), answer, ...rest.slice(middle)].join(', ');
}

/** Least distance of a wrong number, and relative to the right one: beyond what a grader may call equal. */
const [WRONG_BY, WRONG_SHARE] = [1, 0.5];

/** The gold answer with another number: a grader that compares in one direction only pays one of the two. */
function nearNumber({ answer, replaced }: FramedAnswer, sign: 1 | -1): string | undefined {
  if (!/^-?\d+(\.\d+)?$/.test(answer)) return undefined;
  const number = Number(answer);
  return replaced(`${number + sign * (WRONG_BY + Math.floor(WRONG_SHARE * Math.abs(number)))}`);
}

/** A gold answer that does not answer this row; the first where all do: then the rewards do not see the row. */
function otherGold<Row>(
  task: Task<Row>,
  { problem, gold }: AnsweredProblem<Row>,
  others: readonly AnsweredProblem<Row>[],
): string | undefined {
  const answer = (text: string) => findAnswer(text)?.answer ?? text.trim();
  const different = others.map((one) => one.gold).filter((text) => answer(text) !== answer(gold));
  return different.find((text) => task.isCorrect?.(text, problem.row) === false) ?? different[0];
}

/** The prompt's text, or its last message. */
const lastOf = ({ prompt }: Problem): string =>
  typeof prompt === 'string' ? prompt : (prompt.at(-1)?.content ?? '');

/** In a mixture the answers of another task are no answers at all. */
const sameTask = (a: AnsweredProblem<unknown>, b: AnsweredProblem<unknown>) => taskOf(a) === taskOf(b);
const taskOf = ({ problem: { row } }: AnsweredProblem<unknown>) => (isObject(row) ? row.task : undefined);
