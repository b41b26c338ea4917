import type { Layer } from './layer.js';

/** Keys that an environment variable sets: they belong to the machine, not to the run. */
const VARIABLES = { GRPO_DEVICE: 'device' } as const;

/** Reads the settings that environment variables give; an empty variable gives none. */
export function environmentLayer(env: Readonly<Record<string, string | undefined>>): Layer {
  const layer: Layer = { entries: new Map(), problems: [] };
  for (const [source, key] of Object.entries(VARIABLES)) {
    const value = env[source];
    if (value) layer.entries.set(key, { value, source });
  }
  return layer;
}
