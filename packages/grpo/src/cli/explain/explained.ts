/** The explanation of a configuration by `explain` and `diff`, as data. */
import { existsSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { readsKey } from '../../config/command-keys.js';
import { isGiven, recordLayer, resolveConfig, UsageError } from '../../config/index.js';
import { type Key, keys } from '../../config/keys.js';
import { citation, isOfPreset } from '../../config/layers/preset-layer.js';
import {
  isPreset,
  PRESET_NAMES,
  type Preset,
  presets,
  type UnsupportedSetting,
} from '../../config/presets/index.js';
import { inertBecause } from '../../config/rules/inert.js';
import { type Caution, cautionsOf } from '../../config/rules/unsound.js';
import type { Config } from '../../config/schema.js';
import { nearestName } from '../../errors/nearest-name.js';
import { type Formula, formulaOf } from './formula.js';

/** A setting that has an effect. */
export interface Setting {
  key: string;
  value: unknown;
  unit: string | undefined;
  /** Its effect, and that of larger and smaller values. */
  help: string;
  source: string;
}

/** A configuration, explained. */
export interface ExplainedConfig {
  /** Name of a preset, path of a file, or `defaults`. */
  name: string;
  summary: string | undefined;
  formula: Formula;
  /** Notes on reading its numbers. */
  reading: string[];
  cautions: Caution[];
  settings: Setting[];
  unsupported: readonly UnsupportedSetting[];
}

/** The name under which the defaults are explained and compared. */
export const DEFAULTS = 'defaults';

/** A configuration to explain, in the words of the command line. */
export interface ExplainRequest {
  preset?: string | undefined;
  file?: string | undefined;
  /** Folder of a run, whose settings these are. */
  run?: string;
  settings?: readonly string[];
}

/** A word that names a preset, the defaults, a run, or a YAML file. Throws `UsageError` when it is none of them. */
export function askedBy(word: string): ExplainRequest {
  if (word === DEFAULTS) return {};
  if (isPreset(word)) return { preset: word };
  if (basename(word) === 'config.json') return { run: dirname(word) };
  if (statSync(word, { throwIfNoEntry: false })?.isDirectory()) return { run: word };
  if (/\.ya?ml$/i.test(word) || existsSync(word)) return { file: word };
  const names = [DEFAULTS, ...PRESET_NAMES];
  throw new UsageError(
    `'${word}' is no preset, no run, and no file. The nearest preset is ${nearestName(word, names)}.`,
    {
      hint: `Presets: ${names.join(', ')}.`,
    },
  );
}

/** Explains a preset, a file, or the defaults, with settings of the command line over it. */
export function explain({ preset, file, run, settings = [] }: ExplainRequest): ExplainedConfig {
  const named = preset === undefined ? [] : [`preset=${preset}`];
  const { config, provenance } = resolveConfig({
    command: 'explain',
    file,
    env: {},
    layers: run === undefined ? [] : [recordLayer(run)],
    settings: [...named, ...settings],
  });
  const sourceOf = (path: string) => {
    const source = provenance[path]!;
    // The preset that the page is about need not be named at each value.
    return preset !== undefined && isOfPreset(source) ? citation(source) : source;
  };
  const isDiffusion = keys.some(
    ({ path, section }) => section === 'diffusion' && isGiven({ provenance }, path),
  );
  const base: Preset | undefined = config.preset && presets[config.preset];
  return {
    name: preset ?? file ?? run ?? config.preset ?? DEFAULTS,
    summary: base?.summary,
    formula: formulaOf(config, isDiffusion),
    reading: readingOf(config),
    cautions: cautionsOf(config),
    settings: keys
      .filter((key) => matters(key, config) && (isDiffusion || key.section !== 'diffusion'))
      .map((key) => settingOf(key, config, sourceOf(key.path))),
    unsupported: base?.unsupported ?? [],
  };
}

function matters({ path }: Key, config: Config): boolean {
  return path !== 'preset' && readsKey('explain', path) && inertBecause(path, config) === undefined;
}

function settingOf({ path, help, unit }: Key, config: Config, source: string): Setting {
  const value = path
    .split('.')
    .reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], config);
  return { key: path, value, unit, help, source };
}

function readingOf(config: Config): string[] {
  const { kl, advantage, objective } = config;
  const comparesGroups = advantage.baseline !== 'none';
  const onPolicy = objective.iterations * objective.minibatches === 1;
  const policy = 'The policy’s part of L may have either sign; neither is a fault.';
  const value =
    comparesGroups && onPolicy && ['clip', 'sapo', 'gmpo'].includes(objective.policy)
      ? [
          `L is ${kl.beta > 0 && kl.place === 'loss' ? 'about β × KL' : 'about 0'} in value: the ratio is 1 and advantages cancel within a group. Its gradient is not 0; whether a run learns is seen in the reward.`,
          policy,
        ]
      : [policy];
  return [
    ...(advantage.weight === 0 && objective.module === undefined
      ? [
          'The rewards are measured and have no weight (advantage.weight=0): a step learns from the rest of L.',
        ]
      : value),
    `A reward function that fails ${config.onRewardError === 'stop' ? 'stops the run' : 'leaves its completion without an advantage'}; no failure becomes a number.`,
    'A batch has no padding, so it does not matter whether the pad token is the end token.',
  ];
}
