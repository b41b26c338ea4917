/** β after a step, as `objective/beta.ts` has it. */
import type { DeclaredSection } from '../../trace/index.js';

/** @param kl - that it follows: the median of the declared window */
export function nextBeta(
  beta: number,
  kl: number,
  { control, target = 0, band = 0, up = 1, down = 1, rate = 0, ...bounds }: DeclaredSection<'kl'>,
): number {
  const { least = 0, most = Number.POSITIVE_INFINITY } = bounds;
  const side = kl > target * (1 + band) ? up : kl < target * (1 - band) ? down : 1;
  const moved = control === 'adaptive' ? beta * side : beta + rate * (kl - target);
  return Math.min(Math.max(moved, least), most);
}
