import { excerpt } from '../../../errors/printable.js';
import { describeJson } from '../../../formats/json.js';
import type { Row } from '../../../formats/read-rows.js';
import { finalAnswer } from '../../../rewards/final-answer.js';
import { keysOf } from '../../../tasks/row-fields.js';

/** Changes to a row. */
export interface Conversion {
  /** The new key of each renamed one: `[new, old]`. */
  renamed: readonly (readonly [to: string, from: string])[];
  /** Makes `answer` the final answer; the whole text stays as `solution`. */
  finalAnswer: boolean;
}

/** Keys of the final answer, and of the text that it was taken from. */
const [ANSWER, WHOLE] = ['answer', 'solution'];

/**
 * A row with keys renamed, in the order that they had. Nothing is dropped.
 * @returns the problem, as text, where it cannot be done
 */
export function convertRow(row: Row, { renamed, finalAnswer: wanted }: Conversion): Row | string {
  const missing = renamed.find(([, from]) => !Object.hasOwn(row, from));
  if (missing) return `no key ${excerpt(missing[1])}; the row has ${keysOf(row)}`;
  const newName = new Map(renamed.map(([to, from]) => [from, to]));
  const entries = Object.entries(row).map(([key, value]) => [newName.get(key) ?? key, value] as const);
  const names = new Set<string>();
  for (const [name] of entries) {
    if (names.has(name)) return `the row has a key ${excerpt(name)} already; rename that one too`;
    names.add(name);
  }
  const converted: Row = Object.fromEntries(entries);
  return wanted ? withFinalAnswer(converted) : converted;
}

function withFinalAnswer(row: Row): Row | string {
  const whole = row[ANSWER];
  if (typeof whole !== 'string') {
    const found = whole === undefined ? `the row has ${keysOf(row)}` : `found ${describeJson(whole)}`;
    return `--final-answer takes it from the text ${excerpt(ANSWER)}; ${found}`;
  }
  const answer = finalAnswer(whole);
  if (answer === null) return `${ANSWER} has neither #### nor a closed \\boxed{…} with something in it`;
  if (Object.hasOwn(row, WHOLE)) {
    return `the row has a key ${excerpt(WHOLE)} already, where the whole text would go; rename that one too`;
  }
  // The whole text stays in the place of the answer.
  const entries = Object.entries(row).flatMap(([key, value]) =>
    key === ANSWER ? [[ANSWER, answer] as const, [WHOLE, value] as const] : [[key, value] as const],
  );
  return Object.fromEntries(entries);
}
