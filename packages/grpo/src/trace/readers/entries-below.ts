import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { onFile } from '../../errors/file-error.js';
import { type Place, placeOf } from './place.js';

/** As deep as `wandb/run-…/files/output.log` below a folder of experiments. */
const MOST_LEVELS = 6;
const NOT_FOLDERS = /^(\.git|node_modules|__pycache__|\.venv|venv|site-packages)$/;

/** A file, or a folder that is taken as a whole. */
export interface Entry {
  path: string;
  name: string;
  /** Missing for a file. */
  folder?: Place;
}

/** Entries below a folder, in the order of their names; links are not followed. */
export function* entriesBelow(
  root: string,
  isWhole: (folder: Place) => boolean,
  levels = MOST_LEVELS,
): Generator<Entry> {
  const entries = onFile('read', root, () => readdirSync(root, { withFileTypes: true }));
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const { name } = entry;
    const path = join(root, name);
    if (entry.isFile()) yield { path, name };
    if (!entry.isDirectory() || levels === 0 || NOT_FOLDERS.test(name)) continue;
    const folder = placeOf(path);
    if (isWhole(folder)) yield { path, name, folder };
    else yield* entriesBelow(path, isWhole, levels - 1);
  }
}
