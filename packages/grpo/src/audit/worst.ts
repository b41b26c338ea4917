import type { Comparison } from '../trace/index.js';

/** Two numbers that should be one, and where they are. */
export type Pair = Pick<
  Comparison,
  'found' | 'plain' | 'bound' | 'tensor' | 'prompt' | 'completion' | 'token' | 'off'
> & {
  deviation?: number;
  /** How many pairs it is the worst of. */
  compared?: number;
};

/**
 * One comparison of many pairs: the pair that lies furthest apart, measured by its bound, and what all those beyond theirs
 * have in common. A deviation that is not given is the distance of two numbers; texts deviate by 1 where they differ.
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
  const off = new Off();
  for (const pair of pairs) {
    compared += pair.compared ?? 1;
    const deviation = pair.deviation ?? distance(pair.found, pair.plain);
    off.take(pair, deviation);
    // NaN is further off than any number, and stays the worst.
    const isWorse =
      !worst ||
      (!Number.isNaN(worst.deviation) &&
        !(excess(deviation, pair.bound) <= excess(worst.deviation, worst.bound)));
    if (isWorse) worst = { handOver, quantity, compared, ...pair, deviation };
  }
  if (!worst) return [];
  const { off: _, ...one } = worst;
  return [{ ...one, compared, ...off.told }];
}

/** A computation other than the declared one. */
export interface Hypothesis {
  /** A noun: `objective.aggregation=sum`. */
  what: string;
  /** What was found beside what it gives. */
  pairs: readonly Pair[];
}

/** A comparison that is off, with the computation that comes nearest among those that give all that was found; another as it is. */
export function explained(comparison: Comparison, hypotheses: Iterable<Hypothesis>): Comparison {
  if (comparison.deviation <= comparison.bound) return comparison;
  let nearest: { what: string; off: number } | undefined;
  for (const { what, pairs } of hypotheses) {
    const [worst] = worstOf(comparison.handOver, comparison.quantity, pairs);
    const off = worst ? excess(worst.deviation, worst.bound) : Number.POSITIVE_INFINITY;
    if (off <= 1 && !(nearest && nearest.off <= off)) nearest = { what, off };
  }
  return nearest ? { ...comparison, explained: nearest.what } : comparison;
}

/** A deviation in units of its bound; where nothing may deviate, any deviation is beyond all others. */
const excess = (deviation: number, bound: number) => (deviation === 0 ? 0 : deviation / bound);

/** One comparison of each quantity of a hand-over: the worst of those given. */
export function worstByQuantity(comparisons: readonly Comparison[]): Comparison[] {
  const quantities = new Set(comparisons.map(({ quantity }) => quantity));
  return [...quantities].flatMap((quantity) => {
    const own = comparisons.filter((one) => one.quantity === quantity);
    return own.length === 1 ? own : worstOf(own[0]!.handOver, quantity, own);
  });
}

function distance(found: number | string, plain: number | string): number {
  if (typeof found !== 'number' || typeof plain !== 'number') return found === plain ? 0 : 1;
  return found === plain ? 0 : Math.abs(found - plain);
}

/** Share of a factor by which pairs may differ from it. */
const OF_FACTOR = 0.01;
/** Fewest pairs that tell a factor. */
const FEWEST = 3;
/** Most names of tensors that are told. */
const NAMED = 3;

interface Places {
  completions: Set<number>;
  tensors: Set<string>;
}

function place(places: Places, completion: number | undefined, tensor: string | undefined): void {
  if (completion !== undefined) places.completions.add(completion);
  if (tensor !== undefined) places.tensors.add(tensor);
}

/** Pairs beyond their bounds among all: how many, and what they have in common. */
class Off {
  #pairs = 0;
  /** Least and largest found ÷ plain; NaN where one has none. */
  #factors = { least: Number.POSITIVE_INFINITY, largest: Number.NEGATIVE_INFINITY, count: 0 };
  readonly #all: Places = { completions: new Set(), tensors: new Set() };
  readonly #own: Places = { completions: new Set(), tensors: new Set() };
  #firstToken = Number.POSITIVE_INFINITY;
  /** Whether some are the worst of many, of which the others' places are not known; and whether not even their number is. */
  #isJoined = false;
  #isUnknown = false;

  take({ found, plain, bound, completion, tensor, token, compared = 1, off }: Pair, deviation: number): void {
    const isOff = !(deviation <= bound);
    this.#isJoined ||= compared > 1;
    place(this.#all, completion, tensor);
    if (!isOff) return;
    place(this.#own, completion, tensor);
    this.#isUnknown ||= compared > 1 && off === undefined;
    this.#pairs += off?.pairs ?? 1;
    if (token !== undefined) this.#firstToken = Math.min(this.#firstToken, off?.firstToken ?? token);
    const isNumber = typeof found === 'number' && typeof plain === 'number' && Math.abs(plain) > bound;
    this.#addFactor(off?.factor ?? (isNumber ? found / plain : Number.NaN), off?.pairs ?? 1);
  }

  #addFactor(factor: number, count: number): void {
    const { least, largest } = this.#factors;
    this.#factors = {
      least: Math.min(least, factor),
      largest: Math.max(largest, factor),
      count: this.#factors.count + count,
    };
  }

  get told(): Pick<Comparison, 'off'> {
    if (this.#pairs === 0 || this.#isUnknown) return {};
    const { least, largest, count } = this.#factors;
    const factor = (least + largest) / 2;
    const isOne = count >= FEWEST && largest - least <= OF_FACTOR * Math.abs(factor);
    const share = (of: 'completions' | 'tensors') => {
      const all = this.#all[of].size;
      return all > 1 && !this.#isJoined && { [of]: [this.#own[of].size, all] };
    };
    const names = [...this.#own.tensors];
    const isSome = !this.#isJoined && names.length > 1 && names.length < this.#all.tensors.size;
    return {
      off: {
        pairs: this.#pairs,
        ...(isOne && { factor }),
        ...share('completions'),
        ...share('tensors'),
        ...(isSome && { names: names.slice(0, NAMED) }),
        ...(Number.isFinite(this.#firstToken) && { firstToken: this.#firstToken }),
      },
    };
  }
}
