/** Problems of which some belong together: a group is trained on or held out as a whole. */

import { EmptyFile, FormatError } from '../errors/format-error.js';
import { excerpt } from '../errors/printable.js';
import { type Row, readRows } from '../formats/read-rows.js';
import { permutation } from '../maths/random.js';
import { dataFiles } from './data-files.js';
import { defaultEvalSize, SPLIT_SEED } from './hold-out.js';
import type { ProblemFiles } from './split.js';

/** How rows become items, and which of them belong together. */
export interface Grouping<Item> {
  /** Reads a row, or says why it cannot be used. */
  read(row: Row): Item | { problem: string };
  /** Key of an item's group, equal for items that must stay on one side of the split. */
  group(item: Item): string;
  /** Name of a group, for messages: `question group`. */
  what: string;
}

/** Share of the held-out items that training may know before the files are refused. */
const MOST_SHARED = 0.05;

/**
 * Reads the files; `data` and `evalData` may be folders. Without `evalData`, whole groups are held out until they have
 * `evalSize` items: chosen at random, and the same ones in every run. With it, groups of up to 5 % of the held-out items
 * that are in `data` too leave training; more is an error.
 *
 * @throws FormatError naming file and line; EmptyFile when nothing is left to train on
 */
export async function readGroups<Item>(
  { data, evalData, evalSize }: ProblemFiles,
  grouping: Grouping<Item>,
): Promise<{ train: Item[]; held: Item[] }> {
  const items = await readItems(data, grouping);
  const given = evalData === undefined ? undefined : await readItems(evalData, grouping);
  const held = given ?? wholeGroups(items, evalSize ?? defaultEvalSize(items.length), grouping.group);
  const taken = new Set(held.map(grouping.group));
  const train = items.filter((item) => !taken.has(grouping.group(item)));
  if (given) {
    const known = new Set(items.map(grouping.group));
    const shared = given.filter((item) => known.has(grouping.group(item)));
    if (shared.length > MOST_SHARED * given.length) {
      const share = `${((100 * shared.length) / given.length).toFixed(1)} % of its rows have a ${grouping.what} that is also in ${data}`;
      const first = excerpt(grouping.group(shared[0]!));
      throw new FormatError(
        evalData!,
        `${share}, such as ${first}; up to ${100 * MOST_SHARED} % would leave training. Split the rows by it, or leave task.evalData out`,
      );
    }
  }
  if (train.length > 0) return { train, held };
  throw new EmptyFile(
    data,
    `nothing is left to train on: of ${items.length} rows, in ${new Set(items.map(grouping.group)).size} groups by ${grouping.what}, ${held.length} are held out; lower task.evalSize, or give more rows`,
  );
}

async function readItems<Item>(path: string, { read }: Grouping<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for (const file of dataFiles(path)) {
    for (const { line, value } of await readRows(file)) {
      const item = read(value);
      if (isProblem(item)) throw new FormatError(file, item.problem, { line });
      items.push(item);
    }
  }
  return items;
}

const isProblem = (item: unknown): item is { problem: string } =>
  typeof item === 'object' && item !== null && 'problem' in item;

/** At least `size` items, in groups drawn at random. */
function wholeGroups<Item>(items: readonly Item[], size: number, group: (item: Item) => string): Item[] {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const members = groups.get(group(item));
    if (members) members.push(item);
    else groups.set(group(item), [item]);
  }
  const all = [...groups.values()];
  const held: Item[] = [];
  for (const g of permutation(all.length, SPLIT_SEED)) {
    if (held.length >= size) break;
    held.push(...all[g]!);
  }
  return held;
}
