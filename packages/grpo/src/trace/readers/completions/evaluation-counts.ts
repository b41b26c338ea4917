/** Evaluations counted again from their completions. */
import { isObject } from '../../../formats/json.js';
import type { EvaluationCount } from '../../series.js';
import { linesOf } from '../lines.js';
import { literal } from '../literal.js';

/** Sums of the rows of `eval-completions.jsonl`, evaluation by evaluation. */
export function evaluationCounts(file: string): EvaluationCount[] {
  const counts = new Map<string, EvaluationCount>();
  for (const { text } of linesOf(file)) {
    const row = literal(text.trim());
    if (!isObject(row) || typeof row.step !== 'number' || typeof row.decoding !== 'string') continue;
    const { step, decoding } = row;
    const key = `${step} ${decoding}`;
    const count = counts.get(key) ?? { step, decoding, total: 0, correct: 0, tokens: 0 };
    counts.set(key, count);
    count.total++;
    count.correct += Number(row.correct === true);
    count.tokens += Number(row.length);
  }
  return [...counts.values()];
}
