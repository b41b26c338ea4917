import { statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { onFile } from '../../../errors/file-error.js';
import { FormatError } from '../../../errors/format-error.js';
import type { ParquetRow } from '../../../formats/parquet.js';
import type { StepRecord } from '../../record.js';
import { readParquet } from '../parquet.js';
import { PARQUET_MAGIC, type Place } from '../place.js';
import { BrokenParts, type Reading } from '../reading.js';
import { numberOf } from '../rows/metric-row.js';
import { type CompletedRow, promptKey, recordOf, type TableContext } from './completed.js';
import { completedRow } from './completed-row.js';

/** Unpacked bytes of completions that are held at once: the tables are read asynchronously, the records are not. */
const MOST_BYTES = 64 * 2 ** 20;

const isTable = (name: string) => name.endsWith('.parquet');

export const isParquet = ({ head, isFolder, names }: Place): boolean =>
  isFolder ? names.some(isTable) : head.startsWith(PARQUET_MAGIC);

/** Reads one of TRL's `completions_*.parquet`, or a folder of them. */
export async function readCompletionTables(place: Place): Promise<Reading> {
  const files = place.isFolder ? tablesIn(place.path, place.names) : [place.path];
  const broken = new BrokenParts();
  const { steps, notes } = await readTables(files, broken);
  if (steps.length === 0) {
    const why = broken.first[0]?.reason ?? 'it has no column for completions';
    throw new FormatError(place.path, `no table of completions: ${why}`);
  }
  return {
    kind: 'TRL completions, Parquet',
    files,
    records: tableRecords(steps, { producer: { name: 'TRL' } }),
    isGrpo: true,
    broken,
    notes,
  };
}

export const tablesIn = (folder: string, names: readonly string[]): string[] =>
  names.filter(isTable).map((name) => join(folder, name));

/** The completions of one step. */
export interface TableStep {
  step: number;
  rows: CompletedRow[];
}

/** Reads tables of completions; where all would be too much, the first and some that are evenly spread. */
export async function readTables(
  files: readonly string[],
  broken: BrokenParts,
): Promise<{ steps: TableStep[]; notes: string[] }> {
  // Text of completions packs to about a third.
  const bytes = files.reduce((sum, file) => sum + 3 * onFile('read', file, () => statSync(file)).size, 0);
  const every = Math.max(1, Math.ceil(bytes / MOST_BYTES));
  const chosen = files.filter((_, i) => i % every === 0);
  const steps = new Map<number, CompletedRow[]>();
  const notes: string[] = [];
  if (every > 1) notes.push(`Every ${every}th of ${files.length} tables of completions was read.`);
  let left = MOST_BYTES;
  for (const file of chosen) {
    if (left <= 0) break;
    try {
      const { rows, bytes: read, total } = await readParquet(file, left);
      left -= read;
      if (rows.length < total)
        notes.push(`The first ${rows.length} of ${total} rows of ${basename(file)} were read.`);
      addRows(file, rows, steps, broken);
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      broken.add({ file, reason: error.message.replace(`${file}: `, '') });
    }
  }
  const sorted = [...steps].sort(([a], [b]) => a - b);
  return { steps: sorted.map(([step, rows]) => ({ step, rows })), notes };
}

/** Columns that each of TRL's tables has beside those of rewards. */
const NO_REWARD = ['step', 'prompt', 'completion', 'advantage'];

/** Whether a row is of TRL: in tables of others a column may be a length or an index. */
export const isOfTrl = (row: Readonly<Record<string, unknown>>): boolean =>
  NO_REWARD.every((name) => Object.hasOwn(row, name));

const rewardsOfTrl = (row: Readonly<Record<string, unknown>>): Record<string, number> =>
  Object.fromEntries(
    Object.entries(row).flatMap(([name, value]) => {
      const number = value === null ? Number.NaN : numberOf(value);
      const isReward = number !== undefined && typeof value !== 'string' && !NO_REWARD.includes(name);
      return isReward ? [[name, number]] : [];
    }),
  );

function addRows(
  file: string,
  rows: readonly ParquetRow[],
  steps: Map<number, CompletedRow[]>,
  broken: BrokenParts,
): void {
  for (const [i, row] of rows.entries()) {
    const plain = Object.fromEntries(
      Object.entries(row).map(([name, value]) => [name, typeof value === 'bigint' ? Number(value) : value]),
    );
    const found = completedRow(plain);
    if (!found) {
      broken.add({ file, line: i + 1, reason: 'a row without a completion' });
      continue;
    }
    const { completed, step = stepOf(file) } = found;
    if (isOfTrl(plain)) {
      completed.rewards = rewardsOfTrl(plain);
      delete completed.total;
    }
    const known = steps.get(step);
    if (known) known.push(completed);
    else steps.set(step, [completed]);
  }
}

/** From `completions_00012.parquet`. */
const stepOf = (file: string) => Number(/(\d+)\D*$/.exec(basename(file))?.[1] ?? 1);

/** The records of tables, with the group size that all of them share where none is known. */
export function tableRecords(steps: readonly TableStep[], context: TableContext): StepRecord[] {
  const groupSize = context.groupSize ?? sharedGroupSize(steps);
  const full = groupSize === undefined ? context : { ...context, groupSize };
  return steps.map(({ step, rows }) =>
    recordOf(step, groupSize === undefined ? ungrouped(rows) : rows, full),
  );
}

/**
 * Each prompt stands in as many rows as a group has, and equal prompts may be neighbours: the greatest number that
 * divides all runs. One prompt throughout tells nothing.
 */
function sharedGroupSize(steps: readonly TableStep[]): number | undefined {
  const prompts = new Set<string | undefined>();
  let size = 0;
  for (const { rows } of steps) {
    let run = 0;
    for (const [b, row] of rows.entries()) {
      const key = promptKey(row);
      prompts.add(key);
      run = b > 0 && key === promptKey(rows[b - 1]!) ? run + 1 : 1;
      if (b + 1 === rows.length || promptKey(rows[b + 1]!) !== key) size = divisor(size, run);
    }
  }
  return prompts.size > 1 && size > 1 ? size : undefined;
}

const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));

/** Without prompts, since where one group ends is not known. */
const ungrouped = (rows: readonly CompletedRow[]): CompletedRow[] =>
  rows.map(({ prompt: _, messages: __, promptIds: ___, ...row }) => row);
