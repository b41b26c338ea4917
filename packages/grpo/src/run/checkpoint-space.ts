import { byteCount } from '../errors/byte-count.js';
import { freeBytes } from '../errors/free-bytes.js';
import { UserError } from '../errors/user-error.js';
import { checkpointBytes, checkpointsIn } from './folder/checkpoint.js';
import type { Run } from './open-run.js';

/** Checkpoints of fewer bytes in all are not worth a line. */
const WORTH_TELLING = 1e9;

/**
 * Tells what the checkpoints of a run will take on the disk.
 *
 * @throws UserError when they do not fit
 */
export function requireSpace({ folder, config, model, optimizer, trainerState, watcher }: Run): void {
  const { keep } = config.checkpoint;
  const each = checkpointBytes(model, optimizer, trainerState.reference);
  // The newest is written before the oldest is deleted.
  const most = keep + 1;
  const needed = Math.max(1, most - checkpointsIn(folder.checkpoints).length) * each;
  const free = freeBytes(folder.path);
  const sizes = `${byteCount(each)} each, ${most} of them while one is written (checkpoint.keep=${keep})`;
  if (free !== undefined && free < needed) {
    throw new UserError(
      `the checkpoints need ${byteCount(needed)} in ${folder.checkpoints}, and ${byteCount(free)} are free: ${sizes}`,
      { hint: 'Free some space, choose an output on another disk, or lower checkpoint.keep.' },
    );
  }
  const rest = free === undefined ? '' : `; ${byteCount(free)} are free`;
  if (needed >= WORTH_TELLING) watcher.note?.(`Checkpoints take ${sizes}${rest}.`);
}
