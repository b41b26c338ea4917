import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { givenPaths } from './given-paths.js';
import type { Page } from './page.js';
import type { ThreadMessage, ThreadStart } from './thread-protocol.js';

/** The page of a run, served while it trains. */
export interface BesideRun {
  /** Lets open pages read what was written last, and ends the server. */
  end(): Promise<void>;
}

/**
 * Serves the page of a run from a thread of its own: a step computes for seconds without a pause. The thread only reads
 * files; if it fails, the run goes on.
 *
 * @param folder - of the run, or of the runs of a sweep; it must be there
 * @param note - told the link, and what goes wrong
 */
export async function serveBesideRun(
  page: Page,
  folder: string,
  holds: 'run' | 'runs',
  note: (text: string) => void,
): Promise<BesideRun> {
  const given = givenPaths([folder]);
  const place = holds === 'run' ? `#/run/${encodeURIComponent(`/${given[0]!.name}`)}` : '';
  const workerData: ThreadStart = { given, page };
  const thread = new Worker(new URL('./server-thread.js', import.meta.url), { workerData });
  const ended = once(thread, 'exit');
  thread.on('message', (message: ThreadMessage) =>
    note(message.kind === 'ready' ? `Studio: ${message.url}${place}` : message.text),
  );
  thread.on('error', ({ message }) =>
    note(
      `The studio of this run has ended: ${message}. The run goes on; npx grpo studio ${folder} shows it.`,
    ),
  );
  await Promise.race([once(thread, 'message'), ended]);
  return {
    async end() {
      thread.postMessage('end');
      await ended;
    },
  };
}
