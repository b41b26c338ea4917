import { join } from 'node:path';
import { folderOf } from '../../formats/temp-folder.test.helper.js';
import type { Reading } from './index.js';
import { readRun } from './index.js';

/** The run that `fixtures/make_trl_run.py` makes. */
export const TRL_RUN = new URL('../../../src/trace/readers/fixtures/trl-run/', import.meta.url);

/** Reads a file of this content. */
export const readText = (name: string, content: string | Uint8Array): Promise<Reading> =>
  readRun(join(folderOf({ [name]: content }), name));

/** One metric over the entries. */
export const column = ({ series }: Reading, name: string): (number | undefined)[] =>
  series!.entries.map(({ values }) => values[name]);

export const steps = ({ series }: Reading): number[] => series!.entries.map(({ step }) => step);

export const lines = (rows: readonly unknown[]): string =>
  rows.map((row) => `${JSON.stringify(row)}\n`).join('');
