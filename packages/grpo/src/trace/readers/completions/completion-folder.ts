/** Folders of completions with files per step: verl's dumps (`12.jsonl`), prime-rl's token exports (`step_12/rank_0.jsonl`). */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { onFile } from '../../../errors/file-error.js';
import { type Place, placeOf } from '../place.js';
import { isCompletionLines } from './completion-lines.js';

const DUMP = /^(\d+)\.jsonl$/;
const STEP = /^step_(\d+)$/;
const RANK = /^rank_\d+\.jsonl$/;

/** Whether a folder has completions in files per step. */
export function isCompletionFolder(place: Place): boolean {
  const [first] = completionFiles(place);
  return first !== undefined && isCompletionLines(placeOf(first));
}

/** The files of completions in a folder, in the order of the steps. */
export function completionFiles({ path, names, isFolder }: Place): string[] {
  if (!isFolder) return [];
  const numbered = (pattern: RegExp) =>
    names
      .flatMap((name) => {
        const step = pattern.exec(name)?.[1];
        return step === undefined ? [] : [{ file: join(path, name), step: Number(step) }];
      })
      .sort((a, b) => a.step - b.step)
      .map(({ file }) => file);
  const dumps = numbered(DUMP);
  return dumps.length > 0 ? dumps : numbered(STEP).flatMap(ranksIn);
}

const ranksIn = (folder: string): string[] =>
  onFile('read', folder, () => readdirSync(folder, { withFileTypes: true }))
    .filter((entry) => entry.isFile() && RANK.test(entry.name))
    .map(({ name }) => join(folder, name))
    .sort();
