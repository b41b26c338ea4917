/** Two accounts of the completions of a step, side by side. */
import type { StepRecord } from '../../trace/index.js';
import { shorten } from '../outcome.js';

/** Quantity of which two accounts differ, with the first completion that shows it. */
export interface RowDifference {
  quantity: string;
  completion: number;
  row: string;
  record: string;
}

/** Numbers that are written as decimals, and sums without one of their parts, differ by less. */
const EXACT = 1e-8;

type Values = ArrayLike<number | string | null | undefined>;

/** Quantities that both have, and that differ for some completion. */
export function differencesOf(record: StepRecord, rows: StepRecord): RowDifference[] {
  const [count, written] = [record, rows].map(({ completions }) => completions?.prompt?.length);
  if (count !== written)
    return [{ quantity: 'number of completions', completion: 0, row: `${written}`, record: `${count}` }];
  const [own, others] = [columnsOf(record), columnsOf(rows)];
  return Object.entries(own).flatMap(([quantity, values]) => {
    const told = others[quantity];
    if (!values || !told) return [];
    const b = Array.from(values).findIndex((value, i) => !isSame(value, told[i]));
    if (b < 0) return [];
    return [{ quantity, completion: b, row: textOf(told[b]), record: textOf(values[b]) }];
  });
}

/** One value for each completion. */
function columnsOf(record: StepRecord): Record<string, Values | undefined> {
  const { completions, prompts, rewards, advantages } = record;
  const { prompt, texts, finish, lengths } = completions ?? {};
  const B = prompt?.length ?? 0;
  const named = (rewards?.names ?? []).map((name, k) => [
    `reward ${name}`,
    rewards!.values?.subarray(k * B, (k + 1) * B),
  ]);
  return {
    text: texts,
    prompt: prompts?.texts && Array.from(prompt ?? [], (p) => prompts.texts![p]),
    'reason of the end': finish,
    length: lengths,
    reward: rewards?.totals,
    ...Object.fromEntries(named),
    advantage: advantages,
  };
}

function isSame(one: Values[number], other: Values[number]): boolean {
  if (typeof one !== 'number' || typeof other !== 'number') return one === other;
  return Object.is(one, other) || Math.abs(one - other) <= EXACT * Math.max(1, Math.abs(one));
}

const textOf = (value: Values[number]) =>
  typeof value === 'string' ? JSON.stringify(shorten(value)) : `${value}`;
