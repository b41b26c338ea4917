import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { UserError } from '../errors/user-error.js';
import type { Observer } from '../progress/watch.js';
import type { RunOutcome } from './sink.js';
import type { Left, WorkerReply, WorkerRequest, WorkerStart } from './worker-protocol.js';

/** Seconds in which a run that has ended waits for its sinks; for a person who has interrupted it fewer. */
const PATIENCE = 30;
const PATIENCE_INTERRUPTED = 5;
/** Seconds in which a sink that has been told to stop does so. */
const STOPPING = 2;

/**
 * The sinks of a run, in a thread of their own: the one that trains computes for seconds in one piece. The files of the
 * run are all that the thread reads, so what it does changes nothing of the run.
 */
export class SinkThread implements AsyncDisposable {
  readonly #worker: Worker;
  readonly #ended: Promise<unknown>;
  #left: readonly Left[] = [];
  /** Steps that were missing at the end of the run. */
  #most = 0;
  #isDone = false;

  private constructor(
    start: WorkerStart,
    private readonly observer: Observer,
  ) {
    // Libraries of sinks may print; standard output is the command's.
    this.#worker = new Worker(new URL('./worker.js', import.meta.url), { workerData: start, stdout: true });
    this.#worker.stdout.pipe(process.stderr, { end: false });
    this.#ended = once(this.#worker, 'exit');
  }

  /**
   * Opens the sinks of a run whose folder is open.
   *
   * @param done - steps that the run has done
   * @throws UserError for a sink that cannot work. One whose other side is away can
   */
  static async start(start: WorkerStart, observer: Observer): Promise<SinkThread | undefined> {
    if (start.sinks.length === 0) return undefined;
    const thread = new SinkThread(start, observer);
    try {
      const [first] = (await once(thread.#worker, 'message')) as [WorkerReply];
      if (first.kind === 'refused')
        throw new UserError(first.message, first.hint === undefined ? {} : { hint: first.hint });
      if (first.kind === 'ready') {
        const places = first.places.map(({ name, place }) => `${name} (${place})`);
        observer.note?.(`Numbers also go to ${places.join(', ')}.`);
      }
    } catch (error) {
      await thread[Symbol.asyncDispose]();
      throw error;
    }
    thread.#worker.on('message', (reply: WorkerReply) => thread.#hear(reply));
    thread.#worker.on('error', (error) => observer.note?.(`The sinks broke: ${error}. The run goes on.`));
    return thread;
  }

  /**
   * Lets the sinks take what is left, and the end of the run, for a while; says what they have not taken.
   *
   * @param signal - ends the wait
   */
  async end(outcome: RunOutcome, signal?: AbortSignal): Promise<void> {
    const seconds = signal?.aborted ? PATIENCE_INTERRUPTED : PATIENCE;
    this.#post({ kind: 'end', outcome });
    await this.#wait(seconds, signal?.aborted ? undefined : signal);
    if (!this.#isDone) {
      this.#post({ kind: 'stop' });
      await this.#wait(STOPPING);
    }
    for (const { name, steps, reason } of this.#left) {
      if (steps === 0 && reason === undefined) continue;
      const missing = steps === 0 ? '' : `, ${steps} steps are missing`;
      const why = reason === undefined ? '' : `: ${reason}`;
      this.observer.note?.(
        `${name} did not get everything${missing}${why}. It is in the run's folder, and is sent when the run is resumed.`,
      );
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }

  #hear(reply: WorkerReply): void {
    if (reply.kind === 'note') this.observer.note?.(reply.text);
    if (reply.kind !== 'left') return;
    this.#left = reply.left;
    this.#isDone = reply.isLast;
    const steps = reply.left.reduce((sum, { steps }) => sum + steps, 0);
    this.#most = Math.max(this.#most, steps);
    const done = this.#most - steps;
    this.observer.progress?.({ stage: 'sinks', done, total: this.#most, unit: 'steps' });
  }

  /** Waits until the thread has ended, time is up or the signal comes. */
  async #wait(seconds: number, signal?: AbortSignal): Promise<void> {
    const controller = new AbortController();
    const interrupted = signal && once(signal, 'abort', { signal: controller.signal });
    const slept = sleep(1000 * seconds, undefined, { signal: controller.signal });
    const ends = [this.#ended, slept, ...(interrupted ? [interrupted] : [])];
    await Promise.race(ends);
    controller.abort();
    await Promise.allSettled(ends.slice(1));
  }

  #post(request: WorkerRequest): void {
    this.#worker.postMessage(request);
  }
}
