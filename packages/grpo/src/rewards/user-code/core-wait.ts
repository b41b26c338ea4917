import { readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';

/** The number of the calling thread in its process; undefined where the system does not tell, as Linux does. */
export function threadNumber(): string | undefined {
  try {
    return basename(readlinkSync('/proc/thread-self'));
  } catch {
    return undefined;
  }
}

/**
 * Milliseconds that a thread of this process was ready to run and had no core so far; 0 where the system does not tell.
 *
 * @param thread - as `threadNumber` has it
 */
export function coreWait(thread: string | undefined): number {
  if (thread === undefined) return 0;
  try {
    // Nanoseconds on a core, nanoseconds without one, turns.
    const [, wait] = readFileSync(`/proc/self/task/${thread}/schedstat`, 'utf8').split(' ');
    return Number(wait) / 1e6;
  } catch {
    return 0;
  }
}
