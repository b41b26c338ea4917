/** β after a step, as `objective/beta.ts` has it. */
import type { Declared } from '../../trace/index.js';

/** @param kl - that it follows: the median of the declared window */
export function nextBeta(
  beta: number,
  kl: number,
  { klControl, klTarget = 0, klBand = 0, klUp = 1, klDown = 1, klRate = 0, ...bounds }: Declared,
): number {
  const { betaLeast = 0, betaMost = Number.POSITIVE_INFINITY } = bounds;
  const side = kl > klTarget * (1 + klBand) ? klUp : kl < klTarget * (1 - klBand) ? klDown : 1;
  const moved = klControl === 'adaptive' ? beta * side : beta + klRate * (kl - klTarget);
  return Math.min(Math.max(moved, betaLeast), betaMost);
}
