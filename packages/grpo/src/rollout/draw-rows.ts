import type { Tensor } from '@grpo/torch';
import { uniform } from '../maths/random.js';
import { failOnLogits } from './completion-requests.js';
import { type DecodingRow, mustGoOn } from './decoding-row.js';
import { draw } from './distribution.js';

/**
 * Draws one more token for each row.
 *
 * @param logits - `[rows, V]` float32
 * @param endTokens - makes the mask of the tokens that end a completion: bool `[V]`
 * @throws UserError: a row's logits hold NaN or infinity, or every token is forbidden
 */
export function drawRows(logits: Tensor, rows: readonly DecodingRow[], endTokens: () => Tensor): void {
  const rules = rows.map((row) => {
    const { options, seed, keys, index, ids } = row;
    const number = options.temperature === 0 ? 0 : uniform(seed, ...keys, index, ids.length);
    return { options, uniform: number, generated: ids, mayEnd: !mustGoOn(row) };
  });
  const forbidden = rows.some(mustGoOn) ? endTokens() : undefined;
  const { tokens, logprobs, sampledLogprobs, support } = draw(logits, rules, forbidden);
  for (const [i, row] of rows.entries()) {
    if (!Number.isFinite(logprobs[i]) || !Number.isFinite(sampledLogprobs[i]))
      failOnLogits(row, row.ids.length + 1);
    row.ids.push(tokens[i]!);
    row.logprobs.push(logprobs[i]!);
    row.sampledLogprobs.push(sampledLogprobs[i]!);
    if (support[i]) row.support.push(support[i]);
  }
}
