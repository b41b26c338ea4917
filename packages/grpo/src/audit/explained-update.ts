import { median } from '../maths/quantile.js';
import type { AdamWSettings } from './plain/plain-adamw.js';
import type { Pair } from './worst.js';

/** A weight before an update and after it, as found and as computed again, with the moments that moved it. */
export interface Moved {
  before: number;
  found: number;
  plain: number;
  /** Distance that rounding explains. */
  bound: number;
  mean: number;
  square: number;
}

/** A setting of the optimizer, as it must have been for the weights to move as they did. */
export interface Explanation {
  quantity: string;
  pair: Pair;
}

/** Estimates of one number lie this near to their median, as a share, but for a tenth of them. */
const NEAR = 0.03;
const MOST = 0.9;
/** Fewest weights that an explanation is taken from. */
const FEWEST = 8;
/** Moves this many times the rounding have a ratio that can be told. */
const CLEAR = 50;

/**
 * The one setting that explains what the weights do, where one does: the rate, the weight decay or ε. Solves the update of AdamW for
 * it, weight by weight.
 *
 * @param step - of this update, counted from 1
 */
export function explainedUpdate(
  moved: readonly Moved[],
  step: number,
  { learningRate: rate, beta1, beta2, epsilon, weightDecay }: AdamWSettings,
): Explanation | undefined {
  if (rate === 0) return undefined;
  const share = agreed(
    moved
      .filter(({ before, plain, bound }) => Math.abs(plain - before) > CLEAR * bound)
      .map(({ before, found, plain }) => (found - before) / (plain - before)),
    1,
  );
  const told = (quantity: string, found: number | undefined, plain: number): Explanation[] =>
    found === undefined || Math.abs(found - plain) <= NEAR * Math.abs(plain)
      ? []
      : [{ quantity, pair: { found, plain, bound: NEAR * plain, compared: moved.length } }];
  const decay = agreed(
    moved
      .filter(({ before, found, plain, bound }) => Math.abs(found - plain) > CLEAR * bound && before !== 0)
      .map(({ before, found, plain }) => weightDecay - (found - plain) / (rate * before)),
    weightDecay,
  );
  const denominators = moved.flatMap(({ before, found, bound, mean, square }) => {
    const change = found - before + rate * weightDecay * before;
    const root = Math.sqrt(square / (1 - beta2 ** step));
    const solved = (-rate * mean) / (1 - beta1 ** step) / change - root;
    // Rounding decides if the root is much larger.
    return Math.abs(change) > CLEAR * bound && solved > NEAR * root ? [solved] : [];
  });
  return [
    ...told('move of all weights, as a share of the declared one,', share, 1),
    ...told('weight decay by the weights that are off', decay, weightDecay),
    ...told('ε by the weights that are off', agreed(denominators, epsilon), epsilon),
  ][0];
}

/** The median of estimates that agree; where it is small, within a part of the unit. */
function agreed(estimates: readonly number[], unit: number): number | undefined {
  if (estimates.length < FEWEST) return undefined;
  const middle = median(estimates);
  const near = estimates.filter((one) => Math.abs(one - middle) <= NEAR * Math.max(Math.abs(middle), unit));
  return near.length >= MOST * estimates.length ? middle : undefined;
}
