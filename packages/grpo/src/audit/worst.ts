import type { Comparison } from '../trace/index.js';

/** Two numbers that should be one, and where they are. */
export type Pair = Pick<
  Comparison,
  'found' | 'plain' | 'bound' | 'tensor' | 'prompt' | 'completion' | 'token'
> & {
  deviation?: number;
  /** How many pairs it is the worst of. */
  compared?: number;
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
    compared += pair.compared ?? 1;
    const deviation = pair.deviation ?? distance(pair.found, pair.plain);
    // NaN is further off than any number, and stays the worst.
    const isWorse =
      !worst ||
      (!Number.isNaN(worst.deviation) &&
        !(excess(deviation, pair.bound) <= excess(worst.deviation, worst.bound)));
    if (isWorse) worst = { handOver, quantity, compared, ...pair, deviation };
  }
  return worst ? [{ ...worst, compared }] : [];
}

/** A deviation in units of its bound; where nothing may deviate, any deviation is beyond all others. */
const excess = (deviation: number, bound: number) => (deviation === 0 ? 0 : deviation / bound);

/** One comparison of each quantity of a hand-over: the worst of those given. */
export function worstByQuantity(comparisons: readonly Comparison[]): Comparison[] {
  const quantities = new Set(comparisons.map(({ quantity }) => quantity));
  return [...quantities].flatMap((quantity) => {
    const own = comparisons.filter((one) => one.quantity === quantity);
    return worstOf(own[0]!.handOver, quantity, own);
  });
}

function distance(found: number | string, plain: number | string): number {
  if (typeof found !== 'number' || typeof plain !== 'number') return found === plain ? 0 : 1;
  return found === plain ? 0 : Math.abs(found - plain);
}
