import { Worker } from 'node:worker_threads';
import { UserError } from '../../errors/user-error.js';
import { Reason } from '../describe-error.js';
import { markPerCompletion, PartialFailure } from '../each.js';
import type { RewardBatch, RewardFunction, RewardValue } from '../reward.js';
import { coreWait } from './core-wait.js';
import type { WorkerReply, WorkerStart } from './worker-protocol.js';

/** Loading may compile TypeScript, so a short time-out for scoring says nothing about it. */
const LOAD_SECONDS = 60;

/**
 * A user's reward function in a worker thread with a time limit a batch, which holds for infinite loops too.
 * Time in which a busy machine has no core for the thread does not count.
 * The thread is ended when the limit is passed, and started again for the next batch. It keeps the process alive
 * only while a batch is being scored.
 */
export class RewardWorker implements Disposable {
  /** Scores a batch; batches given at the same time wait for one another, and their limit starts with their turn. */
  readonly score: RewardFunction;
  #thread: Thread | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly path: string,
    private readonly seconds: number,
    thread: Thread,
    perCompletion: boolean,
  ) {
    this.#thread = thread;
    const score: RewardFunction = (batch) => {
      const result = this.#turn.then(() => this.#score(batch));
      this.#turn = result.catch(() => undefined);
      return result;
    };
    this.score = perCompletion ? markPerCompletion(score) : score;
  }

  /**
   * Starts the thread and loads the module in it.
   * @param path - absolute path of the module
   * @throws UserError when it cannot be loaded
   */
  static async start(path: string, seconds: number): Promise<RewardWorker> {
    const { thread, perCompletion } = await load(path);
    return new RewardWorker(path, seconds, thread, perCompletion);
  }

  async #score(batch: RewardBatch): Promise<RewardValue[]> {
    this.#thread ??= (await load(this.path)).thread;
    const thread = this.#thread;
    let reply: WorkerReply;
    try {
      reply = await thread.ask(batch, this.seconds);
    } catch (error) {
      this.#thread = undefined;
      await thread.end();
      throw error;
    }
    // The caller checks the values, as it does for functions of this thread.
    if (reply.kind === 'values') return reply.values as RewardValue[];
    if (reply.kind === 'partial') throw new PartialFailure(reply.values, reply.failures);
    throw new Reason(reply.kind === 'failed' ? reply.reason : `answered ${reply.kind} out of turn`);
  }

  [Symbol.dispose](): void {
    void this.#thread?.end();
    this.#thread = undefined;
  }
}

/** Starts a thread that has the module loaded. */
async function load(path: string): Promise<{ thread: Thread; perCompletion: boolean }> {
  const thread = new Thread({ path });
  let reply: WorkerReply;
  try {
    reply = await thread.reply(LOAD_SECONDS);
    if (reply.kind === 'ready') {
      thread.number = reply.thread;
      return { thread, perCompletion: reply.perCompletion };
    }
  } catch (error) {
    await thread.end();
    throw new UserError(`reward module ${path} cannot be loaded: it ${(error as Error).message}`);
  }
  await thread.end();
  if (reply.kind !== 'refused')
    throw new Error(`worker of ${path} answered ${reply.kind} when it was started`);
  throw new UserError(reply.message, reply.hint === undefined ? {} : { hint: reply.hint });
}

/** One worker thread, asked one thing at a time. */
class Thread {
  /** As the system numbers it, once that is known. */
  number: string | undefined;
  readonly #worker: Worker;
  /** Why the thread is no more. */
  #death: string | undefined;
  #settle: ((outcome: WorkerReply | Reason) => void) | undefined;

  constructor(start: WorkerStart) {
    this.#worker = new Worker(new URL('./worker.js', import.meta.url), { workerData: start });
    this.#worker.on('message', (reply: WorkerReply) => this.#settle?.(reply));
    this.#worker.on('error', (error) => this.#die(`stopped its thread: ${error}`));
    this.#worker.on('exit', (code) => this.#die(`ended its thread with exit code ${code}`));
    this.#worker.unref();
  }

  /** Posts a batch and waits for the reply. */
  ask(batch: RewardBatch, seconds: number): Promise<WorkerReply> {
    const reply = this.reply(seconds);
    try {
      this.#worker.postMessage(batch);
    } catch (error) {
      this.#settle?.(new Reason(`cannot be given its batch in a worker: ${(error as Error).message}`));
    }
    return reply;
  }

  /** The thread's next message; rejects with a {@link Reason} after the time limit, or when the thread is dead. */
  reply(seconds: number): Promise<WorkerReply> {
    return new Promise((resolve, reject) => {
      const own = this.#ownTime();
      let timer: NodeJS.Timeout;
      const check = () => {
        const left = 1000 * seconds - own();
        // A reply that has come in the meantime is heard first.
        if (left <= 0)
          setImmediate(() => this.#settle === settle && settle(new Reason(`took longer than ${seconds} s`)));
        else timer = setTimeout(check, left);
      };
      timer = setTimeout(check, 1000 * seconds);
      this.#worker.ref();
      const settle = (outcome: WorkerReply | Reason) => {
        this.#settle = undefined;
        clearTimeout(timer);
        this.#worker.unref();
        if (outcome instanceof Reason) reject(outcome);
        else resolve(outcome);
      };
      this.#settle = settle;
      if (this.#death !== undefined) this.#settle(new Reason(`${this.#death} after an earlier batch`, false));
    });
  }

  /** Counts milliseconds from now on, but for those in which the thread waits for a core that others have. */
  #ownTime(): () => number {
    const begin = performance.now() - coreWait(this.number);
    return () => performance.now() - coreWait(this.number) - begin;
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  #die(reason: string): void {
    this.#death ??= reason;
    this.#settle?.(new Reason(reason));
  }
}
