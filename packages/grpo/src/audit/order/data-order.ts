import type { Trainer } from '../../step/trainer.js';
import type { Problem, Task } from '../../tasks/task.js';
import type { AuditContext, Measured } from '../context.js';
import { explained, type Hypothesis, type Pair, worstOf } from '../worst.js';
import { DeclaredOrder } from './declared-order.js';

/** The rows of a task in the order of a seed. */
interface Order {
  seed: number;
  rowOf: ReadonlyMap<Problem, number>;
  parts: readonly (Part & { order: DeclaredOrder })[];
}

/** Every step asks, and to shuffle a large file takes a second. */
const orders = new WeakMap<Task['train'], Order>();

function orderOf(task: Task, seed: number): Order {
  const known = orders.get(task.train);
  if (known?.seed === seed) return known;
  const rowOf = firstPlaces(task.train);
  const parts = partsOf(task, rowOf).map((part) => ({ ...part, order: new DeclaredOrder(part.rows, seed) }));
  const order = { seed, rowOf, parts };
  orders.set(task.train, order);
  return order;
}

/** Where the step behind the last that was asked for begins, in data that have one order. */
const ends = new WeakMap<NonNullable<Trainer['supply']>, { step: number; place: number }>();

/** Rows of the data that take their turns in an order of their own. */
interface Part {
  /** Their places in the data. */
  rows: readonly number[];
  /** Share of the problems that are taken. */
  share: number;
  /** How far the number taken may lie from the share. */
  slack: number;
}

/**
 * Holds a step's problems to the rows that the order of the seed has at this step, and those in place of flat groups to
 * the rows behind them.
 *
 * @returns nothing for a loop that takes its problems from elsewhere
 */
export function auditOrder({ trainer, batch, step }: AuditContext): Measured {
  const { supply, task, config, begun = { steps: 0, problems: 0 } } = trainer;
  if (!supply) return { comparisons: [] };
  const { own = batch, replayed, sampled = batch.problems.length } = batch.exchange ?? {};
  const { prompts } = config.rollout;
  const { refills } = config.groups;
  const last = ends.get(supply);
  const known = last?.step === step && !config.train.repeatBatch && !task.shares ? last.place : undefined;
  const least = known ?? (config.train.repeatBatch ? 0 : begun.problems + (step - begun.steps) * prompts);
  // How many problems unseen steps took in place of flat groups is not declared, only the most of them.
  const most = known ?? least + (step - begun.steps) * prompts * refills;
  const inPlace = batch.problems.flatMap((problem, prompt) =>
    replayed?.has(prompt) || problem === own.problems[prompt] ? [] : [{ problem, prompt }],
  );
  const { rowOf, parts } = orderOf(task, config.seed);
  const others: Hypothesis[] = [];
  const pairs = parts.flatMap(({ rows, share, slack, order }) => {
    const inPart = new Set(rows);
    const placed = (problem: Problem, prompt: number) => {
      const row = rowOf.get(problem);
      return row === undefined || !inPart.has(row) ? [] : [{ row, prompt }];
    };
    const taken = own.problems.flatMap(placed);
    const from = Math.max(0, Math.floor(share * least) - slack);
    const found = order.find(
      taken.map(({ row }) => row),
      from,
      Math.ceil(share * most) + slack,
    );
    const start = found ?? Math.round(share * least);
    if (found === undefined) others.push(...otherOrders(order, taken, start));
    ends.set(supply, { step: step + 1, place: start + sampled });
    const further = inPlace.flatMap(({ problem, prompt }) => placed(problem, prompt));
    const count = further.length === 0 ? 0 : Math.ceil(share * prompts * refills) + slack;
    const behind = Array.from({ length: count }, (_, i) => order.at(start + taken.length + i));
    return [
      ...taken.map(({ row, prompt }, i) => pairOf(row, order.at(start + i), prompt)),
      ...further.map(({ row, prompt }) => pairOf(row, behind.includes(row) ? row : behind[0]!, prompt)),
    ];
  });
  const strangers = own.problems.flatMap((problem, prompt): Pair[] =>
    rowOf.has(problem) ? [] : [{ found: 'a row of elsewhere', plain: 'a row of the data', bound: 0, prompt }],
  );
  const compared = worstOf('run', "row of the data in the seed's order", [...pairs, ...strangers]);
  return {
    comparisons: compared.map((one) =>
      explained(one, parts.length === 1 && strangers.length === 0 ? others : []),
    ),
  };
}

/** The same order elsewhere, and none at all. */
function otherOrders(
  order: DeclaredOrder,
  taken: readonly { row: number; prompt: number }[],
  start: number,
): Hypothesis[] {
  const rows = taken.map(({ row }) => row);
  const place = order.find(rows, 0, start + order.size);
  const pairs = taken.map(({ row, prompt }, i) => pairOf(row, rows[0]! + i, prompt));
  const unshuffled = { what: 'the order of the file', pairs };
  if (place === undefined) return [unshuffled];
  const count = Math.abs(start - place);
  const what = `the seed's order ${count} ${count === 1 ? 'row' : 'rows'} ${place < start ? 'earlier' : 'later'}`;
  return [{ what, pairs: taken.map(({ row, prompt }) => pairOf(row, row, prompt)) }, unshuffled];
}

const pairOf = (row: number, declared: number, prompt: number): Pair => {
  return { found: `row ${row + 1}`, plain: `row ${declared + 1}`, bound: 0, prompt };
};

/** The first place of each problem: data may repeat one. */
function firstPlaces(problems: readonly Problem[]): ReadonlyMap<Problem, number> {
  const places = new Map<Problem, number>();
  for (const [i, problem] of problems.entries()) if (!places.has(problem)) places.set(problem, i);
  return places;
}

/** All rows, or those of each task of a mixture. */
function partsOf(
  { train, shares }: Pick<Task, 'train' | 'shares'>,
  rowOf: ReadonlyMap<Problem, number>,
): Part[] {
  const rowsOf = (problems: readonly Problem[]) => problems.map((problem) => rowOf.get(problem)!);
  if (!shares) return [{ rows: rowsOf(train), share: 1, slack: 0 }];
  const total = Object.values(shares).reduce((sum, share) => sum + share, 0);
  return Object.entries(shares).map(([task, share], _, { length }) => ({
    rows: rowsOf(train.filter(({ row }) => (row as { task?: unknown }).task === task)),
    share: share / total,
    // Each task keeps to its share to within one problem for each of the tasks.
    slack: length,
  }));
}
