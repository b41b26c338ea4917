import { join } from 'node:path';
import { isObject } from '../formats/json.js';
import { SafetensorsFile } from '../formats/safetensors.js';
import { ints, type NumericArray, offsetsOf } from './arrays.js';
import { LISTS, pathsOf, type RowArray, rowArrays } from './dimensions.js';
import { numbersOf } from './numbers-of.js';
import { textsAt } from './read.js';
import { type StepRecord, stepRecordSchema } from './record.js';
import { BYTES, LENGTHS, TEXT_LISTS } from './texts.js';
import { setAt, valueAt } from './value-at.js';
import { STEP_TENSORS } from './write.js';

/**
 * Reads a step as if it had only some of its completions, with their prompts. Of arrays of tokens only the rows of these
 * are read, so that a completion of a large step is there at once. Numbers of a whole update (loss, gradient norm) stay;
 * probes and audit are left out.
 *
 * @param head - the record of the folder, which may lack arrays of tokens and texts but not lengths
 * @param chosen - completions, ascending
 * @throws FormatError for a file that lacks the rows; FileError
 */
export function readCompletions(folder: string, head: StepRecord, chosen: readonly number[]): StepRecord {
  const record = withoutOthers(head, chosen);
  using file = SafetensorsFile.open(join(folder, STEP_TENSORS));
  for (const array of rowArrays(head)) {
    const info = file.tensors.get(array.path);
    if (!info || !array.lengths) continue;
    const ranges = rangesOf(array, array.per === 'prompt' ? promptsOf(head, chosen) : chosen);
    setAt(record, array.path, numbersOf(info.dtype, file.readRanges(array.path, ranges)));
  }
  for (const path of TEXT_LISTS) {
    if (valueAt(head, path) !== undefined || !file.tensors.has(path + BYTES)) continue;
    const own = LISTS.prompt.some((list) => list === path) ? promptsOf(head, chosen) : chosen;
    setAt(record, path, textRows(file, path, own));
  }
  return stepRecordSchema.parse(record);
}

/** Some texts of a list. */
function textRows(file: SafetensorsFile, list: string, chosen: readonly number[]): (string | null)[] {
  const dtypeOf = (name: string) => file.info(name).dtype;
  const all = ints.parse(numbersOf(dtypeOf(list + LENGTHS), file.read(list + LENGTHS)));
  const sizes = all.map((size) => Math.max(0, size));
  const numbers = (name: string) =>
    name === list + LENGTHS
      ? Int32Array.from(chosen, (row) => all[row]!)
      : numbersOf(dtypeOf(name), file.readRanges(name, rangesIn(sizes, chosen)));
  return textsAt(file.path, list, numbers);
}

/** The prompts of some completions. */
function promptsOf({ completions }: StepRecord, chosen: readonly number[]): number[] {
  const promptOf = completions?.prompt;
  return promptOf ? [...new Set(chosen.map((b) => promptOf[b]!))].sort((a, b) => a - b) : [];
}

type Range = [start: number, end: number];

/** The elements of the rows of some prompts or completions. */
function rangesOf({ members, lengths }: RowArray, chosen: readonly number[]): Range[] {
  const isChosen = (row: number) => chosen.includes(members![row]!);
  return rangesIn(lengths!, members ? Array.from(members, (_, row) => row).filter(isChosen) : chosen);
}

/** Neighbours are read at once. */
function rangesIn(lengths: ArrayLike<number>, rows: readonly number[]): Range[] {
  const offsets = offsetsOf(lengths);
  const ranges: Range[] = [];
  for (const row of rows) {
    const [start, end] = [offsets[row]!, offsets[row + 1]!];
    const last = ranges.at(-1);
    if (last?.[1] === start) last[1] = end;
    else ranges.push([start, end]);
  }
  return ranges;
}

/** The record with the chosen elements of its lists, and without arrays of tokens. */
function withoutOthers(head: StepRecord, chosen: readonly number[]): Record<string, unknown> {
  const { probes: _, audit: __, ...kept } = head;
  const record = copyOf(kept) as Record<string, unknown> & StepRecord;
  const prompts = promptsOf(head, chosen);
  const cut = (paths: readonly string[], own: readonly number[]) => {
    for (const path of paths) {
      const list = valueAt(head, path) as ArrayLike<unknown> | undefined;
      if (list) setAt(record, path, elements(list, own));
    }
  };
  for (const { path } of rowArrays(head))
    if (valueAt(head, path) !== undefined) setAt(record, path, undefined);
  cut(pathsOf(head, 'prompt'), prompts);
  cut(pathsOf(head, 'completion'), chosen);
  const { completions, rewards, updates } = record;
  if (completions?.prompt) completions.prompt = completions.prompt.map((p) => prompts.indexOf(p));
  const values = rewards?.values;
  if (values) {
    const K = rewards.names?.length ?? 1;
    const B = values.length / K;
    const places = Array.from({ length: K }, (_, k) => chosen.map((b) => k * B + b)).flat();
    rewards.values = elements(values, places) as Float64Array;
  }
  if (rewards?.failures)
    rewards.failures = rewards.failures
      .filter(({ completion }) => completion === null || chosen.includes(completion))
      .map((failure) => ({
        ...failure,
        completion: failure.completion === null ? null : chosen.indexOf(failure.completion),
      }));
  for (const update of updates ?? []) {
    const sizes = update.microBatches?.sizes;
    if (sizes) update.microBatches!.sizes = sizesOf(sizes, update.completions, chosen);
    update.completions &&= update.completions.filter((b) => chosen.includes(b)).map((b) => chosen.indexOf(b));
  }
  return record;
}

/** Completions of each micro-batch that are chosen, of those that have any. */
function sizesOf(
  sizes: readonly number[],
  members: ArrayLike<number> | undefined,
  chosen: readonly number[],
): number[] {
  const offsets = offsetsOf(sizes);
  const isChosen = (row: number) => chosen.includes(members?.[row] ?? row);
  const counts = sizes.map(
    (size, i) => Array.from({ length: size }, (_, row) => offsets[i]! + row).filter(isChosen).length,
  );
  return counts.filter((count) => count > 0);
}

function elements(list: ArrayLike<unknown>, places: readonly number[]): unknown {
  const picked = places.map((i) => list[i]);
  if (!ArrayBuffer.isView(list)) return picked;
  const kind = list.constructor as new (values: unknown[]) => NumericArray;
  return new kind(picked);
}

/** A copy of objects and lists of them; arrays and texts are shared. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.some(isHolder) ? value.map(copyOf) : value;
  return isHolder(value)
    ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copyOf(item)]))
    : value;
}

const isHolder = (value: unknown): value is object =>
  Array.isArray(value) || (isObject(value) && !ArrayBuffer.isView(value));
