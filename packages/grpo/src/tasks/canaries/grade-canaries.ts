/** Rewards of canaries, and the bounds that their totals must keep. */
import { type RewardTable, totals } from '../../rewards/reward-table.js';
import { CANARY, type CanaryKind } from '../../trace/canary-kinds.js';
import type { Task } from '../task.js';
import type { CanaryGroup } from './make.js';

/** A canary with its rewards. */
export interface GradedCanary {
  kind: CanaryKind;
  /** Place of its group. */
  row: number;
  completion: string;
  /** Values by reward; null where it has none. */
  values: (number | null)[];
  total: number | null;
  /** The task's own grade; null where the task has none. */
  correct: boolean | null;
  /** Bounds of the total; absent where none is known. */
  least?: number;
  most?: number;
  /** The reward to look at first, and the rule by which it decided. */
  reward: string;
  rule: string | null;
  /** For a blank: the reward that pays it as it pays a right answer, though others outweigh that in the total. */
  leak?: { reward: string; rule: string | null; paid: number };
}

/** Share of the difference between a row's best and worst canary that worthless ones stay below its gold answer. */
const MARGIN = 0.01;
const ROUNDING = 1e-9;

/**
 * Grades canaries.
 *
 * Where the task tells that a gold answer is right, all else must earn less, and the gold answer more than the least of
 * them; repeating it must not pay. Where it cannot tell, blanks and the prompt must not earn more. Where it denies it,
 * or the gold answer is the least of all, no more is asked of the others.
 *
 * @param table - of the canaries, group after group
 * @param size - places that a group takes in the table, of which its canaries are the first
 * @param isPart - rewards were left out, so that equal totals need not be equal
 */
export function gradeCanaries<Row>(
  task: Pick<Task<Row>, 'isCorrect'>,
  groups: readonly CanaryGroup<Row>[],
  table: RewardTable,
  { size, isPart = false }: { size: number; isPart?: boolean },
): GradedCanary[] {
  const sums = totals(table);
  return groups.flatMap(({ problem, canaries }, row) => {
    const first = row * size;
    const graded = canaries.map(
      ({ kind, completion }, i): GradedCanary => ({
        kind,
        row,
        completion,
        values: table.columns.map((column) => orNull(column[first + i]!)),
        total: orNull(sums[first + i]!),
        correct: task.isCorrect?.(completion, problem.row) ?? null,
        ...decider(table, first + i, first),
      }),
    );
    bound(graded, { failed: table.unscored[first] === 1, isPart });
    findLeaks(graded, table, first);
    return graded;
  });
}

/** Whether a canary's total breaks its bounds, or the task grades it wrongly. */
export function isWrong({ kind, total, correct, least, most, leak }: GradedCanary): boolean {
  if (kind === CANARY.gold) return correct === false || (least !== undefined && (total ?? -Infinity) < least);
  return (
    isMisjudged(kind, correct) || leak !== undefined || (most !== undefined && total !== null && total > most)
  );
}

/** Whether the task grades the canary wrongly. A repeated answer may count as right. */
export const isMisjudged = (kind: CanaryKind, correct: boolean | null): boolean =>
  kind === CANARY.gold ? correct === false : correct === true && kind !== CANARY.repeated;

/** Sets the bounds within a group. */
function bound(
  [gold, ...others]: GradedCanary[],
  { failed, isPart }: { failed: boolean; isPart: boolean },
): void {
  if (!gold || gold.correct === false) return;
  // A repeated answer may earn many times as much, so it does not count for the scale.
  const worthless = others.filter(({ kind }) => kind !== CANARY.repeated).flatMap(({ total }) => total ?? []);
  if (gold.total === null) {
    // A reward without an opinion has not failed.
    if (failed) gold.least = Math.min(0, ...worthless);
    return;
  }
  const right = gold.total;
  const lowest = Math.min(right, ...worthless);
  const spread = Math.max(right, ...worthless) - lowest;
  const isSure = gold.correct === true && !isPart;
  const margin = isSure ? MARGIN * spread : -ROUNDING * spread;
  if (isSure) {
    gold.least = lowest + margin;
    if (right < gold.least) return;
  }
  for (const canary of others) {
    if (canary.kind === CANARY.repeated) {
      if (isSure) canary.most = right + ROUNDING * spread;
    } else if (gold.correct === true || !TELLING.includes(canary.kind)) canary.most = right - margin;
  }
}

const BLANKS: readonly CanaryKind[] = [CANARY.empty, CANARY.spaces, CANARY.newline];

/**
 * Finds a reward that looks at the answer, since it pays that of another row nothing, and pays every blank as much as the
 * right one. A reward for shortness or style pays blanks too, and may.
 */
function findLeaks(canaries: readonly GradedCanary[], table: RewardTable, first: number): void {
  const { names, weights, columns, grounds } = table;
  if (canaries[0]!.correct !== true || isWrong(canaries[0]!)) return;
  const places = [...canaries.keys()];
  const blanks = places.filter((i) => BLANKS.includes(canaries[i]!.kind));
  const paid = (k: number, i: number) => weights[k]! * columns[k]![first + i]!;
  const others = places.filter((i) => canaries[i]!.kind === CANARY.other);
  const leaking = names.findIndex(
    (_, k) =>
      others.some((i) => paid(k, i) <= 0) && blanks.every((i) => paid(k, i) > 0 && paid(k, i) >= paid(k, 0)),
  );
  if (leaking < 0) return;
  for (const i of blanks) {
    if (isWrong(canaries[i]!)) continue;
    const rule = grounds?.[leaking]?.[first + i]?.rule ?? null;
    canaries[i]!.leak = { reward: names[leaking]!, rule, paid: paid(leaking, i) };
  }
}

/** Canaries that a task without grades may pay as well as a demonstration. */
const TELLING: readonly CanaryKind[] = [CANARY.format, CANARY.options, CANARY.other];

/** The reward that lifts a canary most above the gold answer; among equals the one that pays most. */
function decider(
  { names, weights, columns, grounds }: RewardTable,
  canary: number,
  gold: number,
): { reward: string; rule: string | null } {
  const paid = (k: number, b: number) => weights[k]! * (orNull(columns[k]![b]!) ?? 0);
  const lift = (k: number) => paid(k, canary) - paid(k, gold);
  const [first] = [...names.keys()]
    .filter((k) => weights[k] !== 0)
    .sort((a, b) => lift(b) - lift(a) || paid(b, canary) - paid(a, canary));
  if (first === undefined) return { reward: '', rule: null };
  return { reward: names[first]!, rule: grounds?.[first]?.[canary]?.rule ?? null };
}

const orNull = (value: number) => (Number.isNaN(value) ? null : value);
