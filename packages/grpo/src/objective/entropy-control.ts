/** The weight of the entropy bonus where it follows the entropy (Skywork-OR1, section 4). */
import type { Config } from '../config/schema.js';

/** How the weight follows the entropy. */
export type EntropyControl = Pick<Config['entropy'], 'adaptive' | 'target' | 'delta' | 'least' | 'most'>;

/** The weight, and the entropy of the last update; null before the first. */
export interface EntropyState {
  coefficient: number;
  last: number | null;
}

/**
 * The state after an update.
 *
 * @param entropy - mean over the tokens that have the bonus
 */
export function nextEntropy(state: EntropyState, entropy: number, control: EntropyControl): EntropyState {
  const { adaptive, target, delta, least, most } = control;
  if (!adaptive) return state;
  const { coefficient } = state;
  const next = entropy <= target ? Math.min(coefficient + delta, most) : Math.max(coefficient - delta, least);
  return { coefficient: next, last: entropy };
}

/** The weight in the next update: 0 while the entropy is above the target, or not known yet. */
export function entropyWeight({ coefficient, last }: EntropyState, control: EntropyControl): number {
  return !control.adaptive || (last ?? Number.POSITIVE_INFINITY) <= control.target ? coefficient : 0;
}
