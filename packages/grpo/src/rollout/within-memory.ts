import { emptyCache, isOutOfMemory } from '@grpo/torch';
import { UserError } from '../errors/user-error.js';

/** A setting that bounds how much is computed at once. */
export interface MemoryBound {
  /** Unit of the bound: `completions`, `tokens`. */
  unit: string;
  /** The key that makes it smaller, such as `train.microBatchTokens`. */
  setting: string;
  configured: number;
  /** The model that computes: sizes that fit into its device's memory are remembered with it. */
  model: object;
}

/** Some of the items, computed together. */
export interface Lot {
  /** How many items. */
  count: number;
  /** How much they are, in the bound's unit. */
  size: number;
}

/** Sizes that fitted into a model's memory, and messages about them that nobody has read yet. */
interface FittingSizes {
  /** Sizes that replace larger configured ones, by unit. */
  fitting: Map<string, number>;
  news: string[];
}

const fittingSizes = new WeakMap<object, FittingSizes>();

/**
 * Runs all items in lots. One that runs out of memory is done again in halves, once; the smaller size then stays for
 * all that this model computes.
 *
 * @param take - the lot that begins at item `from` and, if it holds more than one item, is at most `size`
 * @param run - must leave nothing behind when it throws, unless `restart` clears that away
 * @param restart - for lots that build on each other: all begins again after one that ran out of memory
 * @throws UserError that names the setting when half a lot does not fit either, or a single item does not
 */
export async function withinMemory<L extends Lot>(
  bound: MemoryBound,
  items: number,
  take: (from: number, size: number) => L,
  run: (lot: L) => Promise<void>,
  restart?: () => void,
): Promise<void> {
  let retriedUpTo = 0;
  for (let done = 0; done < items; ) {
    const lot = take(done, sizeOf(bound));
    try {
      await run(lot);
      done += lot.count;
    } catch (error) {
      if (!isOutOfMemory(error)) throw error;
      emptyCache();
      if (done < retriedUpTo || lot.count === 1) throw shortage(bound, lot, error as Error);
      retriedUpTo = done + lot.count;
      shrink(bound, lot);
      if (!restart) continue;
      restart();
      done = 0;
    }
  }
}

/** Takes the messages of `withinMemory` about a model since the last call. */
export function memoryNews(model: object): string[] {
  return fittingSizes.get(model)?.news.splice(0) ?? [];
}

const sizeOf = ({ model, unit, configured }: MemoryBound) =>
  Math.min(configured, fittingSizes.get(model)?.fitting.get(unit) ?? configured);

function shrink({ model, unit, setting }: MemoryBound, { size }: Lot): void {
  const sizes: FittingSizes = fittingSizes.get(model) ?? { fitting: new Map(), news: [] };
  fittingSizes.set(model, sizes);
  const half = Math.ceil(size / 2);
  sizes.fitting.set(unit, half);
  sizes.news.push(
    `memory ran out with ${size} ${unit} at once; from now on ${half}. ` +
      `Results differ by rounding only. A smaller ${setting} begins with fewer.`,
  );
}

function shortage({ setting, configured, unit }: MemoryBound, { count, size }: Lot, cause: Error): UserError {
  const single = count === 1;
  return new UserError(
    `out of memory: ${single ? 'a single completion' : `half of a lot, ${size} ${unit},`} does not fit`,
    {
      hint: single
        ? 'Shorten rollout.maxNewTokens or the prompts, or set dtype=bfloat16'
        : `Lower ${setting}, which allows ${configured} ${unit}; dtype=bfloat16 takes half the memory of float32`,
      cause,
    },
  );
}
