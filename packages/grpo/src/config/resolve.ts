import type { z } from 'zod';
import { nearestName } from '../errors/nearest-name.js';
import { printable } from '../errors/printable.js';
import { UsageError } from '../errors/user-error.js';
import type { ConfigCommand } from './command-keys.js';
import { derive } from './derive.js';
import { type InCode, readsFromConfig } from './in-code.js';
import { findKey, keys, schemaAt } from './keys.js';
import { argumentsLayer } from './layers/arguments-layer.js';
import { environmentLayer } from './layers/environment-layer.js';
import { fileLayer } from './layers/file-layer.js';
import type { Entry, Layer } from './layers/layer.js';
import { presetLayer } from './layers/preset-layer.js';
import type { Rule, RuleContext } from './rules/rule.js';
import { rules } from './rules/rules.js';
import { type Config, configSchema } from './schema.js';
import { describeFound, describeType } from './value-type.js';

/**
 * Where a configuration comes from. Later ones win: defaults < the preset that any of them names < `layers` in order <
 * `file` < `env` < `flags` < `settings`.
 */
export interface ConfigSources {
  command: ConfigCommand;
  /** Settings of a program (`objectLayer`), or the record of the run that is resumed (`recordLayer`). */
  layers?: readonly Layer[];
  /** Path of a YAML file. */
  file?: string | undefined;
  /** Environment variables; only `GRPO_DEVICE` is read. Those of the process when not given. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Settings that flags of a command stand for. */
  flags?: Layer | undefined;
  /** `key=value` arguments. */
  settings?: readonly string[];
  /** The task, where it is written in code. */
  code?: InCode;
  /** For the default name of the run folder. */
  now?: Date;
}

/** A valid configuration that knows where each value came from. */
export interface ResolvedConfig {
  /** The command that it was resolved for. */
  command: ConfigCommand;
  config: Config;
  /** By dotted key: `default`, `default (objective.clipLow)`, `preset dapo (…)`, `run.yaml:12`, `command line`, or a layer's source. */
  provenance: Record<string, string>;
  code?: InCode | undefined;
}

/** Whether somebody set a value: a person, a file or a preset. */
export const isGiven = ({ provenance }: Pick<ResolvedConfig, 'provenance'>, path: string): boolean =>
  !/^default\b/.test(provenance[path]!);

/** Reads, merges and checks a configuration. Throws one `UsageError` that lists every problem. */
export function resolveConfig({
  command,
  layers = [],
  file,
  env = process.env,
  flags,
  settings = [],
  code,
  now,
}: ConfigSources): ResolvedConfig {
  const all = [
    ...layers,
    ...(file === undefined ? [] : [fileLayer(file)]),
    environmentLayer(env),
    ...(flags ? [flags] : []),
    argumentsLayer(settings, command),
  ];
  const overrides = new Map(all.flatMap((layer) => [...layer.entries]));
  const entries = new Map([...presetLayer(overrides.get('preset')?.value).entries, ...overrides]);
  const input = nest(entries);
  const parsed = configSchema.safeParse(input);
  const problems = [
    ...all.flatMap((layer) => layer.problems),
    ...(parsed.error?.issues ?? []).map((issue) => describeIssue(issue, input, entries)),
  ];
  if (!parsed.success || problems.length > 0) throw invalid(problems, command);

  const { config, from } = derive(parsed.data, code?.task ?? command, now ?? new Date());
  const sourceOf = (path: string) => entries.get(path)?.source ?? from.get(path) ?? 'default';
  const given = (path: string) => {
    const entry = entries.get(path);
    return (
      entry !== undefined &&
      !entry.inherited &&
      JSON.stringify(entry.value) !== JSON.stringify(findKey(path)?.default)
    );
  };
  const provenance = Object.fromEntries(keys.map(({ path }) => [path, sourceOf(path)]));
  const resolved = { command, config, provenance, code };
  requireRules(rules, resolved, given);
  return resolved;
}

/**
 * Checks rules for the keys that a command reads.
 *
 * @throws UsageError that lists every broken one
 */
export function requireRules(
  held: readonly Rule[],
  { command, config, provenance, code }: ResolvedConfig,
  given: RuleContext['given'],
): void {
  const broken = held
    .filter((rule) => rule.keys.every((path) => readsFromConfig(command, path, code)))
    .flatMap(({ keys: involved, check }) => {
      const message = check(config, { command, given });
      const where = involved.map((path) => `${path} (${provenance[path]})`).join(', ');
      return message === undefined ? [] : `${where}: ${message}`;
    });
  if (broken.length > 0) throw invalid(broken, command);
}

/** More of them on one screen help nobody: the file is of another kind. */
const MAX_PROBLEMS = 20;

function invalid(problems: readonly string[], command: ConfigCommand): UsageError {
  const hint = `grpo ${command} --help lists the keys.`;
  // They quote the file.
  const shown = problems.slice(0, MAX_PROBLEMS).map((text) =>
    text
      .split('\n')
      .map((line) => printable(line))
      .join('\n'),
  );
  const [first] = shown;
  if (problems.length === 1) return new UsageError(first!, { hint });
  const more = problems.length > MAX_PROBLEMS ? [`… and ${problems.length - MAX_PROBLEMS} more.`] : [];
  const listed = [...shown, ...more].join('\n');
  return new UsageError(`${problems.length} problems in the configuration:\n${listed}`, { hint });
}

/** `{'rollout.group': 4}` → `{rollout: {group: 4}}`. Only known keys come in here. */
function nest(entries: ReadonlyMap<string, Entry>): Record<string, unknown> {
  const root: Record<string, unknown> = {};
  for (const [path, { value }] of entries) {
    const [first, second] = path.split('.') as [string, string?];
    if (second === undefined) root[first] = value;
    else root[first] = { ...(root[first] as object | undefined), [second]: value };
  }
  return root;
}

function describeIssue(issue: z.core.$ZodIssue, input: unknown, entries: ReadonlyMap<string, Entry>): string {
  const parts = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
  // The issue may lie inside a list; the key is the part of its path that the schema knows as one.
  const depth = parts.findIndex((_, i) => findKey(parts.slice(0, i + 1).join('.'))) + 1;
  const path = parts.slice(0, depth).join('.');
  const rest = parts.slice(depth);
  const entry = entries.get(path);
  const locate = (inside: readonly PropertyKey[]) => entry?.locate?.(inside) ?? entry?.source ?? 'default';
  if (issue.code === 'unrecognized_keys') {
    const { properties, anyOf = [] } = schemaAt(parts) ?? {};
    const known = [properties, ...anyOf.map((one) => one.properties)].flatMap((own) =>
      Object.keys(own ?? {}),
    );
    const [unknown] = issue.keys as [string];
    const best = nearestName(unknown, known);
    return `Unknown key ${[...parts, unknown].join('.')} (${locate([...rest, unknown])}). The nearest known key is ${best}.`;
  }
  const found = parts.reduce<unknown>((value, part) => (value as Record<string, unknown>)?.[part], input);
  const schema = schemaAt(parts) ?? {};
  const help = schema.description === undefined ? '' : `\n  ${schema.description}.`;
  return `${parts.join('.')}: expected ${describeType(schema)}, found ${describeFound(found)} (${locate(rest)}).${help}`;
}
