import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Reading } from './index.js';
import { readRun } from './index.js';

/** The run that `fixtures/make_trl_run.py` makes. */
export const TRL_RUN = new URL('../../../src/trace/readers/fixtures/trl-run/', import.meta.url);

/** Writes files into a new folder, which goes when the test ends; returns its path. */
export function folderOf(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'grpo-readers-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}

/** Reads a file of this content. */
export const readText = (name: string, content: string | Uint8Array): Promise<Reading> =>
  readRun(join(folderOf({ [name]: content }), name));

/** One metric over the entries. */
export const column = ({ series }: Reading, name: string): (number | undefined)[] =>
  series!.entries.map(({ values }) => values[name]);

export const steps = ({ series }: Reading): number[] => series!.entries.map(({ step }) => step);

export const lines = (rows: readonly unknown[]): string =>
  rows.map((row) => `${JSON.stringify(row)}\n`).join('');
