import { isPreset, type Preset, presets } from '../presets/index.js';
import type { Layer } from './layer.js';

const PREFIX = 'preset ';

/** The values of a preset, each with its own source: `preset dapo (DAPO (Yu et al., 2025), section 4.1)`. */
export function presetLayer(name: unknown): Layer {
  // Another name is refused by the schema, which lists them.
  const preset: Preset | undefined = typeof name === 'string' && isPreset(name) ? presets[name] : undefined;
  const entries = Object.entries(preset?.values ?? {}).map(
    ([path, { value, source }]) =>
      [path, { value, source: `${PREFIX}${name} (${source})`, inherited: true }] as const,
  );
  return { entries: new Map(entries), problems: [] };
}

/** Whether a value came with a preset. */
export const isOfPreset = (source: string): boolean => source.startsWith(PREFIX);

/** The part of a preset's source that says where the preset has the value from. */
export const citation = (source: string): string => source.replace(/^preset \S+ \((.*)\)$/, '$1');
