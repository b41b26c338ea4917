import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../errors/user-error.js';
import { readJsonObject } from '../formats/json.js';
import { IN_CODE, type InCode, requireSameTask, withCode } from './in-code.js';
import { keys } from './keys.js';
import type { Layer } from './layers/layer.js';
import type { ResolvedConfig } from './resolve.js';

/** Circumstances that a run's numbers depend on, beside its settings. */
const circumstancesSchema = z.object({
  /** grpo, node, libtorch. */
  versions: z.record(z.string(), z.string()),
  /** Device, threads, and the libraries that multiply. */
  engine: z.record(z.string(), z.union([z.string(), z.number()])),
  /** Fingerprints of the files that were read, by path. */
  files: z.record(z.string(), z.string()),
});

export type Circumstances = z.infer<typeof circumstancesSchema>;

const recordSchema = circumstancesSchema.extend({
  /** The command that made the run; absent in records of earlier versions. */
  command: z.string().optional(),
  seed: z.number(),
  values: z.record(z.string(), z.object({ value: z.unknown().optional(), source: z.string() })),
  /** Stages of the step that a user replaced in any part of the run: the settings say nothing of them. */
  ownStages: z.array(z.string()).optional(),
});

/** The content of a run's `config.json`: its circumstances, and every value with its source. */
export type ConfigRecord = z.infer<typeof recordSchema>;

/** The record of a resolved configuration. */
export function configRecord(
  { command, config, provenance, code }: ResolvedConfig,
  circumstances: Circumstances,
): ConfigRecord {
  const entries = keys.map(({ path }) => {
    const value = path
      .split('.')
      .reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], config);
    return [path, { value, source: provenance[path]! }] as const;
  });
  const values = Object.fromEntries(entries);
  return { ...circumstances, command, seed: config.seed, values: code ? withCode(values, code) : values };
}

/**
 * Changes between two records: `threads 2, now 1`, `train.jsonl has changed`. Only names in both are compared: other
 * settings may need other files.
 */
export function changedCircumstances(before: Circumstances, now: Circumstances): string[] {
  const differing = <T>(old: Record<string, T>, current: Record<string, T>) =>
    Object.keys(old).filter((name) => name in current && current[name] !== old[name]);
  const values = { ...now.versions, ...now.engine };
  const previous = { ...before.versions, ...before.engine };
  return [
    ...differing(previous, values).map((name) => `${name} ${previous[name]}, now ${values[name]}`),
    ...differing(before.files, now.files).map((path) => `${path} has changed`),
  ];
}

/** @throws UserError when the folder holds no run, or its record is not one */
export function readRecord(folder: string): ConfigRecord {
  const file = recordFile(folder);
  let json: unknown;
  try {
    json = readJsonObject(file, 'the record of the run');
  } catch (cause) {
    if (!(cause instanceof UserError)) throw cause;
    throw new UserError(cause.message, { hint: 'Give the run folder that a training command wrote.', cause });
  }
  const record = recordSchema.safeParse(json);
  if (!record.success) {
    const run = /^(.*)[/\\]checkpoints[/\\]step-[^/\\]+[/\\]?$/.exec(folder)?.[1];
    if (run !== undefined)
      throw new UserError(`${folder} is a checkpoint, not a run`, {
        hint: `Give the run's folder, ${run}: it goes on from its last checkpoint.`,
      });
    throw new UserError(`${file} is not a run's configuration.\n${z.prettifyError(record.error)}`);
  }
  return record.data;
}

/**
 * The settings of the run in `folder`, to resume it: its own defaults too, which a newer version may have changed,
 * but not what follows from other keys. `output` becomes the folder, wherever it was moved to.
 *
 * @param code - the task that the run goes on with, where it is in code
 */
export function recordLayer(folder: string, code?: InCode): Layer {
  const file = recordFile(folder);
  const { values } = readRecord(folder);
  requireSameTask(folder, values, code);
  const layer: Layer = { entries: new Map(), problems: [] };
  const known = new Set(keys.map((key) => key.path));
  for (const [path, { value, source }] of Object.entries(values)) {
    if (value === undefined || source === IN_CODE || source.startsWith('default (')) continue;
    if (known.has(path)) layer.entries.set(path, { value, source });
    else layer.problems.push(`${file} has the setting ${path}, which this version does not know.`);
  }
  layer.entries.set('output', { value: folder, source: file });
  return layer;
}

const recordFile = (folder: string) => join(folder, 'config.json');
