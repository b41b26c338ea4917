import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { onFile } from '../../../errors/file-error.js';
import { FormatError } from '../../../errors/format-error.js';
import { readText, readWhole } from '../../../formats/read-file.js';
import { declaredByBoth } from '../../declared.js';
import type { StepRecord } from '../../record.js';
import { readTables, tableRecords, tablesIn } from '../completions/completion-tables.js';
import { linesOf, stripAnsi } from '../lines.js';
import { LFS_POINTER, type Place } from '../place.js';
import { meaningOfVersion } from '../producers/index.js';
import { BrokenParts, type Reading } from '../reading.js';
import { type Hints, mergedHints } from '../series/hints.js';
import { LogFacts } from '../series/log-facts.js';
import { readTrainerState } from './trainer-state.js';
import { readTrainingArgs, type TrainingArgs } from './training-args.js';

const STATE = 'trainer_state.json';
const ARGS = 'training_args.bin';
const TABLES = 'completions';
const MOST_CONSOLE_BYTES = 2 ** 26;

/** Whether a folder is what TRL or transformers write a run into, or one of its checkpoints. */
export const isTrlFolder = (place: Place): boolean =>
  place.isFolder && (statesIn(place).length > 0 || hasTables(place));

const hasTables = ({ path, names }: Place) =>
  names.includes(TABLES) && tablesIn('', listing(join(path, TABLES))).length > 0;

const listing = (folder: string) => onFile('read', folder, () => readdirSync(folder)).sort();

/** Paths of the trainer's states, the latest first. */
export function statesIn({ path, names }: Place): string[] {
  const checkpoints = names
    .flatMap((name) => {
      const step = /^checkpoint-(\d+)$/.exec(name)?.[1];
      return step === undefined ? [] : [{ name, step: Number(step) }];
    })
    .sort((a, b) => b.step - a.step);
  // A state in the folder itself is saved when all is over.
  return ['', ...checkpoints.map(({ name }) => name)]
    .map((name) => join(path, name, STATE))
    .filter((file) => existsSync(file));
}

/**
 * Reads the output folder of TRL's or transformers' Trainer: the latest state, the completions, the settings and the
 * version.
 */
export async function readTrlFolder(place: Place): Promise<Reading> {
  const broken = new BrokenParts();
  const [state] = statesIn(place);
  const args = argsOf(place, broken);
  const hints = hintsOf(place, args);
  const log = state === undefined ? undefined : readTrainerState(state, hints);
  const tables = hasTables(place)
    ? tablesIn(join(place.path, TABLES), listing(join(place.path, TABLES)))
    : [];
  const read = await readTables(tables, broken);
  const records = recordsOf(read.steps, log, args, hints.version);
  if (log) broken.addAll(log.broken);
  const isGrpo = records.length > 0 || (log?.isGrpo ?? false);
  const missing = isGrpo ? missingNotes(place, state, tables, args) : [];
  const used = [state, args?.path].filter((file) => file !== undefined);
  return {
    kind: `${isGrpo ? 'TRL' : 'transformers'} output folder`,
    files: [...used, ...tables],
    ...(log?.series && { series: log.series }),
    ...(records.length > 0 && { records }),
    ...(isGrpo && { declared: declaredByBoth(log?.declared, args?.declared) }),
    isGrpo,
    broken,
    notes: [...(log?.notes ?? []), ...read.notes, ...missing],
  };
}

function recordsOf(
  steps: Awaited<ReturnType<typeof readTables>>['steps'],
  log: Reading | undefined,
  args: TrainingArgs | undefined,
  version: string | undefined,
): StepRecord[] {
  const groupSize = args?.declared.rollout?.group;
  return tableRecords(steps, {
    producer: { name: 'TRL', ...(version !== undefined && { version }) },
    declared: declaredByBoth(log?.declared, args?.declared),
    ...(groupSize !== undefined && { groupSize }),
    ...(args?.plainSum && { plainSum: true }),
  });
}

/** The settings, where a checkpoint or the folder has them. */
function argsOf(place: Place, broken: BrokenParts): (TrainingArgs & { path: string }) | undefined {
  const folders = [place.path, ...statesIn(place).map((file) => join(file, '..'))];
  const path = folders.map((folder) => join(folder, ARGS)).find((file) => existsSync(file));
  if (path === undefined || isPointer(path)) return undefined;
  try {
    return { ...readTrainingArgs(path), path };
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    broken.add({ file: path, reason: error.message.replace(`${path}: `, '') });
    return undefined;
  }
}

const isPointer = (path: string) =>
  statSync(path).size < 1000 &&
  readWhole(path, 'the settings', 1000).toString('latin1').startsWith(LFS_POINTER);

function hintsOf(place: Place, args: TrainingArgs | undefined): Hints {
  const version = versionOf(place);
  return mergedHints(
    consoleHints(place),
    {
      ...(version !== undefined && { version }),
      meaning: { ...(version !== undefined && meaningOfVersion(version)), ...args?.meaning },
    },
    args ? { declared: args.declared } : {},
  );
}

/** What the output of the console beside the checkpoints tells: the command, settings, the last exception. */
function consoleHints({ path, names }: Place): Hints {
  const facts = new LogFacts();
  const files = names.filter((name) => /\.(log|out|err)$/.test(name)).map((name) => join(path, name));
  for (const file of files.filter((one) => statSync(one).size <= MOST_CONSOLE_BYTES))
    for (const line of linesOf(file)) facts.take({ ...line, text: stripAnsi(line.text) });
  return facts.hints();
}

/** From the model card, which lists the versions of what the run used. */
function versionOf({ path, names }: Place): string | undefined {
  if (!names.includes('README.md')) return undefined;
  const card = readText(join(path, 'README.md'), 'the model card', 2 ** 20);
  return /^- TRL: (\d+\.\d+[\w.+]*)\s*$/m.exec(card)?.[1];
}

function missingNotes(
  { names }: Place,
  state: string | undefined,
  tables: readonly string[],
  args: TrainingArgs | undefined,
): string[] {
  // Step records of the recorder beside it have completions and settings.
  const isRecorded = names.includes('steps');
  return [
    ...(state === undefined
      ? ['No trainer_state.json, which a checkpoint has: trends of metrics are not judged.']
      : []),
    ...(tables.length === 0 && !isRecorded
      ? ['No completions/*.parquet, which log_completions=True writes: single completions are not judged.']
      : []),
    ...(args || isRecorded
      ? []
      : ['No training_args.bin, which a checkpoint has: the settings are not known.']),
  ];
}
