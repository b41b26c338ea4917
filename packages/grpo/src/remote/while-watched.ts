import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Abandoned } from '../progress/watch.js';

/**
 * Waits for requests and reports about ten times per second. When the report abandons them, or one fails, the others
 * are taken back.
 *
 * @param report - may throw Abandoned
 */
export async function whileWatched<T>(
  report: () => void,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  // One for each request.
  setMaxListeners(0, controller.signal);
  const running = work(controller.signal).then((value) => ({ value }));
  try {
    for (;;) {
      const done = await Promise.race([running, sleep(100)]);
      report();
      if (done) return done.value;
    }
  } finally {
    controller.abort(new Abandoned());
  }
}
