import { inputs } from '../../doctor/inputs.js';
import { completionNames } from '../../view/completion-view.js';
import { pieceOf } from '../../view/pieces.js';
import type { OpenRuns } from '../open-runs.js';
import type { Requests, TokenPlace } from '../requests.js';
import { measuredRows, sizeOf } from './measures.js';

interface Candidate {
  size: number;
  value: number;
  completion: number;
  token: number;
  update: number | undefined;
}

/** The trained tokens with the largest values of a measure, the worst first; NaN is worse than any number. */
export async function worstTokens(
  runs: OpenRuns,
  input: Requests['worstTokens']['input'],
): Promise<readonly TokenPlace[]> {
  const { measure, count } = input;
  const { record, rows } = await measuredRows(runs, input, ['ids']);
  const worst: Candidate[] = [];
  for (const { update, completion, values, mask } of rows)
    for (let token = 0; token < values.length; token++) {
      if (mask?.[token] === 0) continue;
      const value = values[token]!;
      const distance = sizeOf(measure, value);
      const size = Number.isNaN(distance) ? Number.POSITIVE_INFINITY : distance;
      if (worst.length === count && size <= worst.at(-1)!.size) continue;
      insert(worst, { size, value, completion, token, update }, count);
    }
  const names = completionNames(record.completions?.prompt ?? []);
  const scored = inputs.scoredIds.from(record);
  const sampled = inputs.ids.from(record);
  return worst.map(({ value, completion, token, update }) => {
    const id = (scored?.[completion]?.length ? scored : sampled)?.[completion]?.[token];
    const text = id === undefined ? undefined : pieceOf(record, id)?.text;
    return {
      completion,
      name: names[completion] ?? String(completion),
      token,
      value,
      ...(update !== undefined && { update }),
      ...(id !== undefined && { id }),
      ...(text !== undefined && { text }),
    };
  });
}

/** Into a list that is sorted, the largest first, and keeps that many. */
function insert(worst: Candidate[], candidate: Candidate, most: number): void {
  if (most < 1) return;
  let place = worst.length;
  while (place > 0 && worst[place - 1]!.size < candidate.size) place--;
  worst.splice(place, 0, candidate);
  if (worst.length > most) worst.pop();
}
