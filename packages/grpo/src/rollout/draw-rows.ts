import { type Tensor, tensor } from '@grpo/torch';
import { uniform } from '../maths/random.js';
import { failOnLogits } from './completion-requests.js';
import { type DecodingRow, mustGoOn } from './decoding-row.js';
import { draw } from './distribution.js';
import { hasPenalties, penalize } from './penalties.js';

/**
 * Draws one more token for each row.
 *
 * @param logits - `[rows, V]` float32
 * @param endTokens - makes the mask of the tokens that end a completion: bool `[V]`
 * @throws UserError: a row's logits hold NaN or infinity, or every token is forbidden
 */
export function drawRows(logits: Tensor, rows: readonly DecodingRow[], endTokens: () => Tensor): void {
  for (const places of alike(rows)) {
    const on = { dtype: 'int64', device: logits.device } as const;
    const some =
      places.length === rows.length ? logits : logits.indexSelect(0, tensor(places, undefined, on));
    drawAlike(
      some,
      places.map((place) => rows[place]!),
      endTokens,
    );
  }
}

/** The places of rows that are drawn together. */
function alike(rows: readonly DecodingRow[]): number[][] {
  const groups = new Map<string, number[]>();
  for (const [place, row] of rows.entries()) {
    const kind = mustGoOn(row) ? `${row.kind} goes on` : row.kind;
    const group = groups.get(kind);
    if (group) group.push(place);
    else groups.set(kind, [place]);
  }
  return [...groups.values()];
}

function drawAlike(logits: Tensor, rows: readonly DecodingRow[], endTokens: () => Tensor): void {
  const { options } = rows[0]!;
  const uniforms =
    options.temperature === 0
      ? []
      : rows.map(({ seed, keys, index, ids }) => uniform(seed, ...keys, index, ids.length));
  const generated = rows.map(({ ids }) => ids);
  const adjusted = hasPenalties(options) ? penalize(logits, generated, options) : logits;
  const forbidden = mustGoOn(rows[0]!) ? endTokens() : undefined;
  const drawn = draw(logits, adjusted, uniforms, options, forbidden);
  const { tokens, logprobs, sampledLogprobs, support } = drawn;
  for (const [i, row] of rows.entries()) {
    if (!Number.isFinite(logprobs[i]) || !Number.isFinite(sampledLogprobs[i]))
      failOnLogits(row, row.ids.length + 1);
    row.ids.push(tokens[i]!);
    row.logprobs.push(logprobs[i]!);
    row.sampledLogprobs.push(sampledLogprobs[i]!);
    if (support) row.support.push(support.bytes(i));
  }
}
