import { join, relative } from 'node:path';
import { UsageError } from '../errors/user-error.js';
import type { ConfigRecord } from './config-record.js';
import { IN_CODE } from './in-code.js';
import { keys } from './keys.js';

/** Files and folders: another place will do where the content is the same. */
const PLACES = ['model', 'lora.adapter', 'teacher.model', 'task.data', 'task.evalData', 'task.prompt'];

/** The task, but for the engine that judges its moves: it scores as rewards do, and these may change. */
const TASK = keys
  .map(({ path }) => path)
  .filter((path) => path.startsWith('task.') && path !== 'task.engine');

/** Keys that weights, optimizer, reference and place in the data depend on. */
const FIXED = [
  'preset',
  'seed',
  'dtype',
  'kl.referenceEvery',
  'model',
  'lora.adapter',
  'teacher.model',
  'lora.rank',
  'lora.alpha',
  'lora.targets',
  ...TASK,
];

/**
 * Refuses to go on with a run as with another one: of another command, model, task, dtype, seed or shape of adapters,
 * or where a file of the model or the task has changed. Rewards, objective, optimizer and lengths may change.
 *
 * @param folder - of the run
 * @param before - the record that it was made with
 * @param now - the record that it would go on with
 * @throws UsageError
 */
export function requireSameRun(folder: string, before: ConfigRecord, now: ConfigRecord): void {
  if (before.command !== undefined && before.command !== now.command) {
    throw new UsageError(`${folder} holds a run of grpo ${before.command}, not of grpo ${now.command}`, {
      hint: `Continue it: npx grpo ${before.command} --resume ${folder}`,
    });
  }
  for (const path of FIXED) {
    const [old, current] = [before.values[path], now.values[path]];
    // Newer keys are not in the record.
    if (!old || !current || old.source === IN_CODE) continue;
    const isSame = JSON.stringify(old.value) === JSON.stringify(current.value);
    if (isSame || (PLACES.includes(path) && isMoved(before, now, path))) continue;
    throw refused(
      `${folder} holds a run with ${path}=${shown(old.value)}, which cannot go on with ${path}=${shown(current.value)}`,
      folder,
    );
  }
  const changed = placesOf(before).flatMap((place) => changedFiles(before.files, now.files, place));
  if (changed.length > 0) {
    throw refused(
      `${folder} cannot go on: ${changed.join(', ')} changed since the run was last started`,
      folder,
    );
  }
}

const refused = (message: string, folder: string) =>
  new UsageError(message, {
    hint: `To train on with it, begin a new run from the weights of this one: model=${join(folder, 'checkpoints', 'step-N')} and another output.`,
  });

const shown = (value: unknown) =>
  value === undefined ? '(not set)' : typeof value === 'string' ? value : JSON.stringify(value);

/** Whether the same files are now in another place. */
function isMoved(before: ConfigRecord, now: ConfigRecord, path: string): boolean {
  const [old, current] = [before, now].map(({ files, values }) => filesIn(files, values[path]!.value));
  return old!.size > 0 && JSON.stringify([...old!]) === JSON.stringify([...current!]);
}

/** Fingerprints of the files that a path stands for, by their names below it. */
function filesIn(files: Readonly<Record<string, string>>, place: unknown): Map<string, string> {
  if (typeof place !== 'string') return new Map();
  const below = Object.entries(files).flatMap(([file, print]): [string, string][] => {
    const name = relative(place, file);
    return name.startsWith('..') ? [] : [[name, print]];
  });
  return new Map(below.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Places of a run's model and problems: paths, or the name of a task in code. */
function placesOf({ values }: ConfigRecord): unknown[] {
  const name = values['task.name'];
  const mix = (values['task.mix']?.value ?? []) as Record<string, unknown>[];
  return [
    ...PLACES.map((path) => values[path]?.value),
    ...mix.flatMap(({ data, evalData, prompt }) => [data, evalData, prompt]),
    ...(name?.source === IN_CODE ? [`the task ${name.value}`] : []),
  ];
}

/** The files in a place that are not as they were; a place that is empty now is not read. */
function changedFiles(
  before: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
  place: unknown,
): string[] {
  const [old, current] = [filesIn(before, place), filesIn(now, place)];
  if (old.size === 0 || current.size === 0) return [];
  return [...new Set([...old.keys(), ...current.keys()])]
    .filter((name) => old.get(name) !== current.get(name))
    .map((name) => join(place as string, name));
}
