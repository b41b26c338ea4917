import { statSync } from 'node:fs';
import { entriesBelow } from './entries-below.js';
import type { Place } from './place.js';

const MOST_FILES = 5000;
/** Files in a folder that may be logs. */
const LIKE_LOGS = /\.(log|txt|out|err|jsonl|ndjson|json|csv|tsv|ipynb|html?|wandb)(\.gz)?$|\btfevents\b/i;
/** Of models, tokenizers and packages. */
const NOT_LOGS =
  /^(tokenizer.*|vocab|added_tokens|special_tokens_map|generation_config|config|adapter_config|preprocessor_config|.*\.index|package(-lock)?|tsconfig|merges|requirements.*|README.*|LICENSE.*)\.(json|txt|md)$/i;
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
  for (const { path, name, folder } of entriesBelow(root, isRun)) {
    if (++seen > MOST_FILES) break;
    if (folder || (isLogName(name) && statSync(path).size <= MOST_BYTES)) paths.push(path);
  }
  return paths;
}

export const isLogName = (name: string): boolean => LIKE_LOGS.test(name) && !NOT_LOGS.test(name);
