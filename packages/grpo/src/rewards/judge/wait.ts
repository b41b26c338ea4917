import { setTimeout as sleep } from 'node:timers/promises';

/** Waits; rejects with the signal's own reason when that comes first. */
export async function wait(seconds: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(1000 * seconds, undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
