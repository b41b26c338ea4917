import type { OpenRuns } from '../open-runs.js';
import type { PositionAnswer, Requests } from '../requests.js';
import { measuredRows, sizeOf } from './measures.js';

/** A measure by position in the completion, over the trained tokens of a step. A NaN stays in the mean of its position. */
export async function positions(
  runs: OpenRuns,
  input: Requests['positions']['input'],
): Promise<PositionAnswer> {
  const { measure } = input;
  const { rows } = await measuredRows(runs, input);
  const longest = rows.reduce((most, { values }) => Math.max(most, values.length), 0);
  const mean = new Float64Array(longest);
  const size = new Float64Array(longest);
  const largest = new Float64Array(longest);
  const count = new Float64Array(longest);
  for (const { values, mask } of rows)
    for (let t = 0; t < values.length; t++) {
      if (mask?.[t] === 0) continue;
      const own = sizeOf(measure, values[t]!);
      mean[t]! += values[t]!;
      size[t]! += own;
      if (own > largest[t]! || Number.isNaN(own)) largest[t] = own;
      count[t]!++;
    }
  for (let t = 0; t < longest; t++) {
    mean[t]! /= count[t]!;
    size[t]! /= count[t]!;
    if (count[t] === 0) largest[t] = Number.NaN;
  }
  return { mean, size, largest, count };
}
