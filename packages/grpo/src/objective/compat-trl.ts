/**
 * TRL's numbers where ours depart from them on purpose:
 * - the entropy bonus is a mean over the micro-batch, so that a split changes it (ours: over the update)
 * - up to 1.10 `luspo` averages over padding too, once a choice makes its terms differ from token to token
 * - token means divide by the mean count of the rollout's updates, up to 1.10 by their sum (see `update.tokens`)
 * - equal rewards that are no dyadic fractions leak small advantages of one sign (see `advantage.ts`)
 */
import { tokenWeights, type UpdateSize } from './aggregation.js';
import type { Rows } from './rows.js';
import type { LossSettings } from './settings.js';

/**
 * Weight of each token: `[T]`.
 *
 * @param perToken - the terms of a completion's tokens differ
 */
export function weightsOfOldTrl(
  settings: LossSettings,
  rows: Rows,
  update: UpdateSize,
  perToken: boolean,
): Float64Array {
  const isLuspo = settings.policy === 'clip' && settings.aggregation === 'sum';
  if (!isLuspo || (!perToken && settings.ratio === 'sequence'))
    return rows.masked(rows.spreadNumbers(tokenWeights(settings, rows.counts, update)));
  const width = Math.max(...rows.lengths);
  return rows.spreadNumbers(rows.counts.map((count) => count / (width * update.completions)));
}
