/** A row in the layout of BBQ. */
import { describeJson, isObject } from '../../formats/json.js';
import type { Row } from '../../formats/read-rows.js';
import { RowProblem, textOf } from '../row-fields.js';
import type { FairnessQuestion } from './reward.js';

/** The fields that are read; others stay in the row. */
export interface BbqRow extends Row {
  category: string;
  question_index: string | number;
  context_condition: 'ambig' | 'disambig';
  context: string;
  question: string;
  /** Each option as `[words, group]`; that of the group "unknown" says that it cannot be told. */
  answer_info: Record<string, readonly string[]>;
  /** Place of the right option. */
  label: number;
}

const OPTIONS = ['ans0', 'ans1', 'ans2'];

/** @throws RowProblem for a row in another layout, or one that contradicts itself */
export function bbqRow(row: Row): BbqRow {
  for (const key of ['category', 'context', 'question', ...OPTIONS]) textOf(row, key);
  const { question_index: index, context_condition: condition, answer_info: info, label } = row;
  if (typeof index !== 'string' && typeof index !== 'number')
    throw new RowProblem(`question_index must be text or a number, found ${describeJson(index)}`);
  if (condition !== 'ambig' && condition !== 'disambig')
    throw new RowProblem(`context_condition must be "ambig" or "disambig", found ${describeJson(condition)}`);
  if (label !== 0 && label !== 1 && label !== 2)
    throw new RowProblem(`label must be 0, 1 or 2, found ${describeJson(label)}`);
  if (!isObject(info)) throw new RowProblem(`answer_info must be an object, found ${describeJson(info)}`);
  const known = row as BbqRow;
  if ((condition === 'ambig') !== (label === unknownOf(known)))
    throw new RowProblem(
      `the context is ${condition} and label is ${label}, but answer_info has "unknown" at ans${unknownOf(known)}`,
    );
  return known;
}

/** The question of a row, as the reward sees it. */
export function fairnessQuestion(row: BbqRow): FairnessQuestion {
  return {
    context: row.context,
    options: OPTIONS.map((key) => String(row[key])),
    gold: row.label,
    unknown: unknownOf(row),
    ambiguous: row.context_condition === 'ambig',
  };
}

/** The option that says it cannot be told: C where `answer_info` names none. */
function unknownOf({ answer_info }: BbqRow): number {
  const place = OPTIONS.findIndex(
    (key) => Array.isArray(answer_info[key]) && answer_info[key][1] === 'unknown',
  );
  return place < 0 ? 2 : place;
}
