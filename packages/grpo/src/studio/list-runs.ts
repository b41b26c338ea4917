import { basename, dirname, relative } from 'node:path';
import { UserError } from '../errors/user-error.js';
import { findRuns } from '../trace/readers/index.js';
import type { OpenRuns } from './open-runs.js';
import type { RunEntry } from './requests.js';
import { entriesOf } from './run-entry.js';

/** Bytes of the ends of metrics that are read for all runs of ours, and of other logs for all of those. */
const MOST_BYTES = 2 ** 23;
const LEAST_OF_RUN = 2 ** 13;
const MOST_OF_RUN = 2 ** 20;

/** Answers `runs`: what stands at the roots and below them, from listings and the ends of files. */
export async function listRuns(runs: OpenRuns): Promise<readonly RunEntry[]> {
  const found = runs.roots.map((root) => ({ root, ...foundAt(root) }));
  const count = found.reduce((total, { places }) => total + places.length, 0);
  const end = Math.min(MOST_OF_RUN, Math.max(LEAST_OF_RUN, Math.floor(MOST_BYTES / count)));
  const allowance = { end, left: MOST_BYTES };
  const entries: RunEntry[] = [];
  for (const { root, places, problem } of found) {
    if (problem !== undefined)
      entries.push({ id: root, name: basename(root), kind: 'unknown', state: 'unknown', problem });
    for (const one of places) {
      const { path } = one.place;
      const name = relative(runs.roots.length > 1 ? dirname(root) : root, path) || basename(root);
      entries.push(...(await entriesOf(runs, one, name, allowance)));
    }
  }
  return entries;
}

function foundAt(root: string): { places: ReturnType<typeof findRuns>; problem?: string } {
  try {
    return { places: findRuns(root) };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { places: [], problem: error.message };
  }
}
