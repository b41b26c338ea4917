/** The names under which the assignment's script leaves its models, beside our checkpoints. */
import { copyFileSync, existsSync, linkSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { onFile } from '../../errors/file-error.js';
import { discard, temporaryPath } from '../../formats/atomic-file.js';
import { makeFolder } from '../../formats/make-folder.js';

/** A checkpoint of a run, and the run. */
export interface SavedCheckpoint {
  output: string;
  dir: string;
  step: number;
  /** Steps of the whole run, and between two checkpoints. */
  steps: number;
  every: number;
}

/** Makes `checkpoint_step_N/` of each regular checkpoint, and `final_model/` of the last. */
export function nameModels({ output, dir, step, steps, every }: SavedCheckpoint): void {
  if (every > 0 && step % every === 0) linkModel(dir, join(output, `checkpoint_step_${step}`));
  if (step === steps) linkModel(dir, join(output, 'final_model'));
}

/**
 * The model of a checkpoint, without what only `--resume` needs. Its files are hard links: they take no room while the
 * checkpoint is there, and stay when `checkpoint.keep` deletes it.
 */
function linkModel(from: string, to: string): void {
  const parent = join(to, '..');
  const temporary = temporaryPath(parent);
  try {
    makeFolder(temporary);
    for (const entry of readdirSync(from, { withFileTypes: true }))
      if (entry.isFile()) link(join(from, entry.name), join(temporary, entry.name));
    onFile('write', to, () => {
      if (existsSync(to)) rmSync(to, { recursive: true });
      renameSync(temporary, to);
    });
  } catch (error) {
    discard(temporary);
    throw error;
  }
}

/** File systems without hard links, such as FAT and some network drives, get a copy. */
function link(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (!['EPERM', 'ENOTSUP', 'EXDEV', 'EMLINK', 'ENOSYS'].includes(code ?? '')) throw error;
    onFile('write', to, () => copyFileSync(from, to));
  }
}
