import type { Comparison } from '../trace/index.js';

/** Two numbers that should be one, and where they are. */
export type Pair = Pick<
  Comparison,
  'found' | 'plain' | 'bound' | 'tensor' | 'prompt' | 'completion' | 'token'
> & {
  deviation?: number;
};

/**
 * One comparison of many pairs: the pair that lies furthest apart, measured by its bound. A deviation that is not given is
 * the distance of two numbers; texts deviate by 1 where they differ.
 *
 * @returns nothing for no pair
 */
export function worstOf(
  handOver: Comparison['handOver'],
  quantity: string,
  pairs: Iterable<Pair>,
): Comparison[] {
  let worst: Comparison | undefined;
  let compared = 0;
  for (const pair of pairs) {
    compared++;
    const deviation = pair.deviation ?? distance(pair.found, pair.plain);
    // NaN is further off than any number, and stays the worst.
    const isWorse =
      !worst ||
      (!Number.isNaN(worst.deviation) && !(deviation * worst.bound <= worst.deviation * pair.bound));
    if (isWorse) worst = { handOver, quantity, compared, ...pair, deviation };
  }
  return worst ? [{ ...worst, compared }] : [];
}

function distance(found: number | string, plain: number | string): number {
  if (typeof found !== 'number' || typeof plain !== 'number') return found === plain ? 0 : 1;
  return found === plain ? 0 : Math.abs(found - plain);
}
