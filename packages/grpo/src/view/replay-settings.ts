/** Settings that a recorded step is to be replayed with. */

import { type Layer, type ResolvedConfig, resolveConfig, UsageError } from '../config/index.js';
import { findKey } from '../config/keys.js';
import type { Declared } from '../trace/index.js';
import { valueAt } from '../trace/value-at.js';

const REPLAYED = ['objective', 'advantage', 'kl', 'entropy', 'correction'] as const;
/** Sections that their rules read besides. */
const READ = [...REPLAYED, 'rollout', 'optimizer'] as const;

/** Sections of the settings that a recorded rollout can be replayed with. */
export type ReplaySettings = Pick<Declared, (typeof REPLAYED)[number]>;

/** A setting of a replay, beside what was recorded. */
export interface ChangedSetting {
  path: string;
  /** undefined where the record does not declare it. */
  recorded: unknown;
  replayed: unknown;
  /** The setting that it follows from, where it was not given itself. */
  follows?: string;
}

/**
 * The settings of a replay, and what they change. What follows from a given one follows here too, where the recorded value
 * followed likewise: `objective.loss` sets the policy term, `objective.clipLow` the upper bound.
 *
 * @throws UsageError for a setting that a recorded rollout cannot have anew, or that is wrong
 */
export function replaySettings(
  given: Layer,
  declared: Declared = {},
): { settings: ReplaySettings; changed: ChangedSetting[] } {
  const fixed = [...given.entries.keys()].find(
    (path) => !REPLAYED.some((name) => path.startsWith(`${name}.`)),
  );
  if (fixed !== undefined)
    throw new UsageError(
      `a replay cannot change ${fixed}: its completions, rewards and mask plans are those of the record`,
      {
        hint: `It takes settings of ${REPLAYED.join(', ')}. For others do a step anew: grpo step --config FILE key=value`,
      },
    );
  const { config, provenance } = resolve([recordedLayer(given, declared), given]);
  const isDeclared = (path: string) => valueAt(declared, path) !== undefined;
  const sourceOf = (path: string) =>
    [...given.entries.keys()].find((key) => provenance[path]!.startsWith(`default (${key}`));
  const changed = pathsOf(config, REPLAYED).flatMap((path): ChangedSetting[] => {
    const [recorded, replayed] = [valueAt(declared, path), valueAt(config, path)];
    const isSame = JSON.stringify(recorded) === JSON.stringify(replayed);
    const follows = sourceOf(path);
    const isOurs = given.entries.has(path) || isDeclared(path) || follows !== undefined;
    return isSame || !isOurs ? [] : [{ path, recorded, replayed, ...(follows && { follows }) }];
  });
  const settings: Record<string, Record<string, unknown>> = {};
  for (const { path, replayed } of changed) {
    const [section, key] = path.split('.') as [string, string];
    settings[section] = { ...settings[section], [key]: replayed };
  }
  return { settings, changed };
}

/** What the record declares, but for what followed from a given setting. */
function recordedLayer(given: Layer, declared: Declared): Layer {
  const layerOf = (paths: readonly string[]): Layer => ({
    entries: new Map(
      paths.flatMap((path) => {
        const value = valueAt(declared, path);
        return value === undefined || !findKey(path)
          ? []
          : [[path, { value, source: 'the record', inherited: true }]];
      }),
    ),
    problems: [],
  });
  const plain = resolve([]);
  const paths = pathsOf(declared, READ).filter((path) => !given.entries.has(path));
  const follows = (path: string) => plain.provenance[path]?.startsWith('default (') ?? false;
  const own = pathsOf(declared, READ).filter((path) => !follows(path));
  const { config } = resolve([layerOf(own)]);
  const isSet = (path: string) => !follows(path) || valueAt(config, path) !== valueAt(declared, path);
  return layerOf(paths.filter(isSet));
}

/** Of a command that needs neither a task nor a model. */
const resolve = (layers: readonly Layer[]): ResolvedConfig =>
  resolveConfig({ command: 'explain', layers, env: {} });

const pathsOf = (from: object, sections: readonly string[]): string[] =>
  sections.flatMap((name) => Object.keys(valueAt(from, name) ?? {}).map((key) => `${name}.${key}`));
