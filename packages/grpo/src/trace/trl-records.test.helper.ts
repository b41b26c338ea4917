import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readStepRecord } from './read.js';
import type { StepRecord } from './record.js';

/** Folder of a real TRL run, recorded by parity/trl_faults.py; nothing in it was edited. */
export const trlRun = (run: string): string =>
  fileURLToPath(new URL(`../../../../parity/fixtures/trl-run/${run}/`, import.meta.url));

export function trlRecords(run: string): StepRecord[] {
  const steps = join(trlRun(run), 'steps');
  return readdirSync(steps)
    .sort()
    .map((step) => readStepRecord(join(steps, step)));
}
