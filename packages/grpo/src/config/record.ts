import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from './errors.js';
import { keys } from './keys.js';
import type { Layer } from './layer.js';
import type { ResolvedConfig } from './resolve.js';

const recordSchema = z.object({
  versions: z.record(z.string(), z.string()),
  seed: z.number(),
  values: z.record(z.string(), z.object({ value: z.unknown().optional(), source: z.string() })),
});

/** The content of a run's `config.json`: what it was made with, and every value with its source. */
export type ConfigRecord = z.infer<typeof recordSchema>;

/** The record of a resolved configuration. `versions` names what the run was made with: grpo, node, libtorch. */
export function configRecord(
  { config, provenance }: ResolvedConfig,
  versions: Record<string, string>,
): ConfigRecord {
  const values = keys.map(({ path }) => {
    const value = path
      .split('.')
      .reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], config);
    return [path, { value, source: provenance[path]! }] as const;
  });
  return { versions, seed: config.seed, values: Object.fromEntries(values) };
}

/**
 * The settings of the run in `folder`, to resume it: its own defaults too, which a newer version may have changed,
 * but not what follows from other keys. `output` becomes the folder, wherever it was moved to.
 */
export function recordLayer(folder: string): Layer {
  const file = join(folder, 'config.json');
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new UserError(
      `Cannot read ${file}, the settings of the run to resume: ${(cause as Error).message}.`,
      {
        hint: 'Give the run folder that a training command wrote.',
        cause,
      },
    );
  }
  const record = recordSchema.safeParse(json);
  if (!record.success) {
    throw new UserError(`${file} is not a run's configuration.\n${z.prettifyError(record.error)}`);
  }
  const layer: Layer = { entries: new Map(), problems: [] };
  const known = new Set(keys.map((key) => key.path));
  for (const [path, { value, source }] of Object.entries(record.data.values)) {
    if (value === undefined || source.startsWith('default (')) continue;
    if (known.has(path)) layer.entries.set(path, { value, source });
    else layer.problems.push(`${file} has the setting ${path}, which this version does not know.`);
  }
  layer.entries.set('output', { value: folder, source: file });
  return layer;
}
