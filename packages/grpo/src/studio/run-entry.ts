/** A run as the list of runs shows it. */
import { statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { onFile } from '../errors/file-error.js';
import { FormatError } from '../errors/format-error.js';
import { UserError } from '../errors/user-error.js';
import { sum } from '../maths/moments.js';
import { type FoundRun, isEvaluation, type Place, type Reading } from '../trace/readers/index.js';
import { placeOf } from '../trace/readers/place.js';
import { isRunFolder, RUN_FOLDER } from '../trace/readers/run-folder.js';
import { readTrainerState } from '../trace/readers/trl/trainer-state.js';
import { statesIn } from '../trace/readers/trl/trl-folder.js';
import type { OpenRuns } from './open-runs.js';
import { lookAt, stateOf } from './own-run.js';
import type { RunEntry } from './requests.js';
import { thinned } from './thinned.js';

/** Bytes of logs that may still be read for a list. */
export interface Allowance {
  /** Of each file of a run of ours. */
  end: number;
  /** Of other logs, all together. */
  left: number;
}

/**
 * The entries of a path: one, or one per run of a file with several; none for a file below a root that has no metrics.
 *
 * @param name - for people
 */
export async function entriesOf(
  runs: OpenRuns,
  { place, kind }: FoundRun,
  name: string,
  allowance: Allowance,
): Promise<RunEntry[]> {
  const { path } = place;
  try {
    if (kind === RUN_FOLDER) return [ownEntry(runs, place, name, allowance)];
    const entry: RunEntry = { id: path, name, kind, state: 'unknown' };
    const { modified, step, read } = logOf(runs, place, allowance);
    const reading = await read?.();
    if (!reading) return [{ ...entry, modified, ...(step !== undefined && { step }) }];
    if (!reading.runs)
      return [
        { ...entry, modified, ...factsOf(reading), ...(place.isFolder && !runs.isRead(path) && { kind }) },
      ];
    return await Promise.all(
      reading.runs.map(async (part, i) => {
        const id = `${path}#${i + 1}`;
        return { ...entry, id, name: `${name}, ${part.name}`, modified, ...factsOf(await runs.reading(id)) };
      }),
    );
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const isLog = error instanceof FormatError && !place.isFolder && !runs.roots.includes(path);
    return isLog ? [] : [{ id: path, name, kind, state: 'unknown', problem: error.message }];
  }
}

/** The entry of a run that was read. */
export function entryOf(runs: OpenRuns, id: string, reading: Reading): RunEntry {
  const { path, part } = runs.place(id);
  const place = placeOf(path);
  const name = part === undefined ? basename(path) : `${basename(path)}, run ${part}`;
  if (isRunFolder(place)) return ownEntry(runs, place, name, { end: ALL, left: 0 });
  const { modified } = logOf(runs, place, { end: 0, left: 0 });
  return { id, name, modified, ...factsOf(reading) };
}

const ALL = 2 ** 22;

function ownEntry(runs: OpenRuns, place: Place, name: string, { end }: Allowance): RunEntry {
  const look = runs.once(`the last ${end} bytes`, place.path, () => lookAt(place, end));
  const { isLocked: _, seconds: __, ...facts } = look;
  return { id: place.path, name, kind: RUN_FOLDER, state: stateOf(look, Date.now()), ...facts };
}

/** How the log of a path can be read for the list: not at all where it is too large, or where there are records alone. */
function logOf(
  runs: OpenRuns,
  place: Place,
  allowance: Allowance,
): { modified: number; step?: number; read?: () => Promise<Reading> | Reading } {
  const { path, names, isFolder } = place;
  const steps = [...runs.stepFolders(path).keys()];
  if (steps.length > 0) return { modified: statsOf([path]).last, step: Math.max(...steps) };
  const [state] = isFolder ? statesIn(place) : [];
  const files = isFolder ? names.map((name) => join(path, name)) : [path];
  const { last: modified, bytes } = statsOf(state === undefined ? files : [state]);
  if (runs.isRead(path)) return { modified, read: () => runs.whole(path) };
  if (bytes === 0 || bytes > allowance.left) return { modified };
  allowance.left -= bytes;
  return {
    modified,
    read: () =>
      state === undefined ? runs.whole(path) : runs.once('state', path, () => readTrainerState(state)),
  };
}

/** When the last of some paths changed, and what the files among them hold. */
function statsOf(paths: readonly string[]): { last: number; bytes: number } {
  const found = paths.map((path) => onFile('read', path, () => statSync(path)));
  const sizes = found.map((one) => (one.isFile() ? one.size : 0));
  return { last: Math.max(...found.map(({ mtimeMs }) => mtimeMs)), bytes: sum(sizes) };
}

/** The facts of a list entry that a reading has. */
function factsOf({
  kind,
  series,
}: Reading): Pick<RunEntry, 'kind' | 'state' | 'step' | 'steps' | 'reward' | 'rewards'> {
  const entries = (series?.entries ?? []).filter(({ values }) => !isEvaluation(values));
  const rewards = entries.flatMap(({ values: { reward } }) => reward ?? []);
  const step = entries.at(-1)?.step;
  const steps = series?.lastStep;
  return {
    kind,
    state: step !== undefined && steps !== undefined && step >= steps ? 'finished' : 'unknown',
    ...(step !== undefined && { step }),
    ...(steps !== undefined && { steps }),
    ...(rewards.length > 0 && { reward: rewards.at(-1)!, rewards: thinned(rewards) }),
  };
}
