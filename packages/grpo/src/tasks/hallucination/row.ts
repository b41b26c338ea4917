/** Rows in the layouts of HaluEval: qa, dialogue, summarization and general, told apart by their keys. */
import { describeJson, isObject } from '../../formats/json.js';
import type { Row } from '../../formats/read-rows.js';
import { RowProblem, textOf } from '../row-fields.js';
import type { HallucinationQuestion } from './reward.js';

export type Kind = HallucinationQuestion['kind'];

/** The keys of each layout. */
const LAYOUTS = {
  qa: ['knowledge', 'question', 'right_answer', 'hallucinated_answer'],
  dialogue: ['knowledge', 'dialogue_history', 'right_response', 'hallucinated_response'],
  summary: ['document', 'right_summary', 'hallucinated_summary'],
  general: ['user_query', 'chatgpt_response', 'hallucination'],
} as const satisfies Record<Kind, readonly string[]>;

/** @throws RowProblem for a row in none of the layouts */
export function haluevalRow(row: Row): Row {
  const kind = kindOf(row);
  for (const key of LAYOUTS[kind]) textOf(row, key);
  if (kind !== 'general') return row;
  if (!/^(yes|no)$/i.test(textOf(row, 'hallucination')))
    throw new RowProblem(`hallucination must be "yes" or "no", found ${describeJson(row.hallucination)}`);
  const { hallucination_spans: spans } = row;
  if (spans !== undefined && !(Array.isArray(spans) && spans.every((span) => typeof span === 'string')))
    throw new RowProblem(`hallucination_spans must be a list of texts, found ${describeJson(spans)}`);
  return row;
}

/** The layout that most of its own keys tell. */
export function kindOf(row: Row): Kind {
  // `knowledge` is in two of them.
  const told = {
    qa: 'right_answer',
    dialogue: 'right_response',
    summary: 'right_summary',
    general: 'user_query',
  };
  const [kind] = Object.entries(told).find(([, key]) => Object.hasOwn(row, key)) ?? [];
  if (kind !== undefined && isObject(row)) return kind as Kind;
  const layouts = Object.entries(LAYOUTS).map(([name, keys]) => `${name} (${keys.join(', ')})`);
  throw new RowProblem(
    `the row matches no layout of HaluEval: ${layouts.join('; ')}; found ${Object.keys(row).slice(0, 12).join(', ') || 'no keys'}`,
  );
}

/** The question of a row, as the reward sees it. */
export function hallucinationQuestion(row: Row): HallucinationQuestion {
  const kind = kindOf(row);
  const keys = LAYOUTS[kind];
  const text = (key: string) => String(row[key]);
  if (kind === 'general')
    return {
      kind,
      source: text('chatgpt_response'),
      hallucinated: /^yes$/i.test(text('hallucination')),
      spans: (row.hallucination_spans as string[] | undefined) ?? [],
    };
  const asked = kind === 'summary' ? '' : text(keys[1]);
  return { kind, asked, source: text(keys[0]), right: text(keys.at(-2)!), hallucinated: text(keys.at(-1)!) };
}
