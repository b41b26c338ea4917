import type { Config } from '../config/schema.js';
import { flatGroups, PLAIN } from '../doctor/recompute/advantage.js';
import type { Batch } from '../step/batch.js';
import type { Comparison } from '../trace/index.js';
import { textPair } from './text-pair.js';
import { type Pair, worstOf } from './worst.js';

/** Only groups whose rewards are equal give way to others, and those that stay are known. */
export function compareExchange({ advantage }: Pick<Config, 'advantage'>, batch: Batch): Comparison[] {
  const { exchange, problems, groupSize } = batch;
  if (!exchange) return [];
  const groups = problems.map((_, p) => Array.from({ length: groupSize }, (__, i) => p * groupSize + i));
  const { ddof, flatBelow } = advantage;
  const flatIn = ({ rewards_B: totals }: Batch) =>
    flatGroups({ totals, columns: [], weights: [] }, groups, { ...PLAIN, ddof, flatBelow });
  const ownFlat = flatIn(exchange.own);
  const pairs = groups.map(([first], prompt): Pair => {
    const isKept = batch.completions_B[first!] === exchange.own.completions_B[first!];
    const found = isKept ? 'kept' : 'replaced';
    return { found, plain: ownFlat.includes(prompt) ? found : 'kept', bound: 0, prompt };
  });
  const left = flatIn(batch).filter((p) => !exchange.replayed.has(p));
  const listed = [...exchange.flat].sort((a, b) => a - b);
  return [
    ...compareValues(batch),
    ...worstOf('choice', 'fate of a group whose rewards differ', pairs),
    ...worstOf('choice', 'list of groups of equal rewards', [textPair(listed.join(' '), left.join(' '))]),
  ];
}

/** Groups that stay, and those that come back, keep the values that their completions were given. */
function compareValues({ exchange, rewardTable, completions_B, groupSize, problems }: Batch): Comparison[] {
  const pairs = problems.flatMap((_, prompt): Pair[] => {
    const { own, replayed } = exchange!;
    const from = prompt * groupSize;
    const stored = replayed.get(prompt)?.group;
    const isOwn = completions_B[from] === own.completions_B[from];
    if (!stored && !isOwn) return [];
    const [table, start] = stored ? [stored.rewardTable, 0] : [own.rewardTable, from];
    return rewardTable.columns.flatMap((column, k) =>
      Array.from({ length: groupSize }, (__, g): Pair => {
        const [found, plain] = [column[from + g]!, table.columns[k]![start + g]!];
        const isSame = Object.is(found, plain);
        return { found, plain, bound: 0, completion: from + g, ...(isSame && { deviation: 0 }) };
      }),
    );
  });
  const counts = rewardTable.columns.map(({ length }): Pair => {
    return { found: length, plain: completions_B.length, bound: 0 };
  });
  return [
    ...worstOf('choice', 'number of values of a reward', counts),
    ...worstOf('choice', 'value of a reward after groups were exchanged', pairs),
  ];
}
