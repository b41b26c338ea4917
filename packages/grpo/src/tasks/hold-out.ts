import { counted } from '../errors/counted.js';
import { permutation } from '../maths/random.js';

/** Not the run's seed: a row held out in one run must not be trained on in the next, which starts from its model. */
export const SPLIT_SEED = 0x5eed;

/** How many of the rows are held out where nobody says. */
export const defaultEvalSize = (rows: number): number => Math.min(200, Math.ceil(rows / 5));

/**
 * Holds out `size` of the items: chosen at random, and the same ones whenever items and size are the same. Copies of
 * what is held out leave training too.
 *
 * @param key - equal for two items that ask the same
 */
export function holdOut<Item>(
  items: readonly Item[],
  size: number,
  key: (item: Item) => string,
): { train: Item[]; held: Item[] } {
  const held = permutation(items.length, SPLIT_SEED)
    .slice(0, size)
    .map((i) => items[i]!);
  const taken = new Set(held.map(key));
  return { train: items.filter((item) => !taken.has(key(item))), held };
}

/** Says why {@link holdOut} leaves nothing to train on. */
export function noneLeft<Item>(items: readonly Item[], size: number, key: (item: Item) => string): string {
  const asked = new Set(items.map(key)).size;
  const copies =
    asked < items.length
      ? `: they ask ${counted(asked, 'question')} in all, and copies of what is held out are not trained on`
      : '';
  return `holding out ${size} of ${counted(items.length, 'row')} leaves none to train on${copies}`;
}

/** The items to train on that ask the same as a held-out one. */
export function sharedWith<Item>(
  held: readonly Item[],
  train: readonly Item[],
  key: (item: Item) => string,
): Item[] {
  const taken = new Set(held.map(key));
  return train.filter((item) => taken.has(key(item)));
}
