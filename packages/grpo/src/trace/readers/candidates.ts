import { type Dirent, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { onFile } from '../../errors/file-error.js';
import { type Place, placeOf } from './place.js';

/** As deep as `wandb/run-…/files/output.log` below a folder of experiments. */
export const MOST_LEVELS = 6;
const MOST_FILES = 5000;
/** Files in a folder that may be logs. */
const LIKE_LOGS = /\.(log|txt|out|err|jsonl|ndjson|json|csv|tsv|ipynb|html?|wandb)(\.gz)?$|\btfevents\b/i;
/** Of models, tokenizers and packages. */
const NOT_LOGS =
  /^(tokenizer.*|vocab|added_tokens|special_tokens_map|generation_config|config|adapter_config|preprocessor_config|.*\.index|package(-lock)?|tsconfig|merges|requirements.*|README.*|LICENSE.*)\.(json|txt|md)$/i;
export const NOT_FOLDERS = /^(\.git|node_modules|__pycache__|\.venv|venv|site-packages)$/;
/** A log of more is given alone. */
const MOST_BYTES = 2 ** 28;

/**
 * Paths below a folder that may be runs: folders that a reader knows, and files that may be logs.
 *
 * @param isRun - whether a folder is one run
 */
export function candidatesIn(root: string, isRun: (folder: Place) => boolean): string[] {
  const paths: string[] = [];
  let seen = 0;
  const walk = (folder: string, levels: number) => {
    const entries = onFile('read', folder, () => readdirSync(folder, { withFileTypes: true }));
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (++seen > MOST_FILES) return;
      const path = join(folder, entry.name);
      if (entry.isFile() && isLikeLog(entry, path)) paths.push(path);
      else if (entry.isDirectory() && levels > 0 && !NOT_FOLDERS.test(entry.name)) {
        if (isRun(placeOf(path))) paths.push(path);
        else walk(path, levels - 1);
      }
    }
  };
  walk(root, MOST_LEVELS);
  return paths;
}

const isLikeLog = ({ name }: Dirent, path: string) => isLogName(name) && statSync(path).size <= MOST_BYTES;

export const isLogName = (name: string): boolean => LIKE_LOGS.test(name) && !NOT_LOGS.test(name);
