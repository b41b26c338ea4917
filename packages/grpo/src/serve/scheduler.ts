import { setImmediate } from 'node:timers/promises';
import { byteCount } from '../errors/byte-count.js';
import { UserError } from '../errors/user-error.js';
import type { Engine } from '../memory/decoding.js';
import { layoutBytes } from '../memory/holdings.js';
import { roomOfLots } from '../memory/room.js';
import { leastServingBytes, type ServedPrompt, servingBytes } from '../memory/serving.js';
import type { DecoderConfig } from '../models/index.js';
import type { Job } from './job.js';
import { promptOf } from './lane.js';
import { scorePrompt } from './prompt-scores.js';
import type { ServedModel } from './served-model.js';

/** A request, and by what it is answered. */
interface Task {
  job: Job;
  served: ServedModel;
}

/** Prompts that join between two tokens have so many tokens, or are one: those that grow are not to stand for long. */
const JOINING_TOKENS = 2048;

/**
 * Lets requests join what grows, in the order in which they came and as the memory allows, and lets all grow by a token
 * in each turn. Between two turns the process serves whoever else there is.
 */
export class Scheduler {
  /** Drawn since the start. */
  tokens = 0;
  /** Version of the weights, for the jobs that begin. */
  weightVersion = 'default';
  /** What stands still: requests that have not begun, or those that grow as well. */
  stopped: 'nothing' | 'waiting' | 'all' = 'nothing';
  readonly #queue: Task[] = [];
  readonly #growing = new Set<Task>();
  /** Models that something is laid out for. */
  readonly #open = new Set<ServedModel>();
  readonly #idle: (() => void)[] = [];
  readonly #room: number;
  #isTurning = false;
  /** Whether the last turn computed prompts: the next one lets all grow. */
  #hasJoined = false;

  constructor(
    private readonly config: DecoderConfig,
    private readonly engine: Engine,
    memoryBytes: number,
  ) {
    this.#room = roomOfLots(config, engine, memoryBytes);
  }

  get load(): { running: number; waiting: number; tokens: number } {
    const running = [...this.#open].reduce((sum, { rows }) => sum + rows, 0);
    const waiting = this.#queue.reduce((sum, { job }) => sum + job.count - job.joined, 0);
    return { running, waiting, tokens: this.tokens };
  }

  /** @throws UserError: it can never fit into the memory */
  add(job: Job, served: ServedModel): void {
    const { prompt } = job.request;
    const needed = leastServingBytes(this.config, this.engine, promptOf(job, 1));
    if (job.count > 0 && needed > this.#room) {
      throw new UserError(
        `a prompt of ${prompt.length} tokens with a completion of up to ${job.limit} needs ${byteCount(needed)}, ` +
          `the server has ${byteCount(this.#room)} for completions`,
        { hint: 'Ask for fewer tokens, or start the server with more memory' },
      );
    }
    this.#queue.push({ job, served });
    const { signal } = job.request;
    const leave = () => {
      if (!job.isSettled) job.fail(signal!.reason);
      this.wake();
    };
    signal?.addEventListener('abort', leave, { once: true });
    const end = () => signal?.removeEventListener('abort', leave);
    job.answer.then(end, end);
    this.wake();
  }

  /** Ends all that was accepted. */
  abort(reason: unknown): void {
    for (const { job } of [...this.#queue, ...this.#growing]) if (!job.isSettled) job.fail(reason);
    this.wake();
  }

  /** Ends when nothing grows. */
  idle(): Promise<void> {
    this.wake();
    return new Promise((resolve) => {
      this.#idle.push(resolve);
    });
  }

  /** Goes on, if there is something to do. */
  wake(): void {
    if (this.#isTurning) return;
    this.#isTurning = true;
    void this.#turn();
  }

  /** Gives back what is laid out for models without rows; `model` keeps it. */
  closeIdle(model?: ServedModel): void {
    for (const served of this.#open) {
      if (served === model || served.rows > 0) continue;
      served.close();
      this.#open.delete(served);
    }
  }

  dispose(): void {
    for (const served of this.#open) served.close();
    this.#open.clear();
  }

  async #turn(): Promise<void> {
    for (;;) {
      await setImmediate();
      this.#removeSettled();
      const mayJoin = !this.#hasJoined || this.#advancing().length === 0;
      this.#hasJoined = false;
      if (this.stopped !== 'all' && mayJoin) this.#admit();
      if (this.#growing.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
      const growing = this.#advancing();
      if (this.stopped === 'all' || growing.length === 0) break;
      for (const served of growing) this.#advance(served);
    }
    this.#isTurning = false;
  }

  /** Models that have rows. */
  #advancing(): ServedModel[] {
    return [...this.#open].filter(({ rows }) => rows > 0);
  }

  #removeSettled(): void {
    for (const task of this.#growing) if (task.job.isSettled) this.#growing.delete(task);
    const waiting = this.#queue.filter(({ job }) => !job.isSettled);
    this.#queue.splice(0, this.#queue.length, ...waiting);
    for (const { lane } of this.#open) lane?.dropSettled();
  }

  /** Those at the head of the queue begin. */
  #admit(): void {
    let tokens = 0;
    for (let task = this.#queue[0]; task; task = this.#queue[0]) {
      const { job, served } = task;
      const { length } = job.request.prompt;
      if (this.stopped !== 'nothing' && !job.hasBegun) return;
      if (tokens > 0 && tokens + length > JOINING_TOKENS) return;
      const count = this.#countThatFits(task);
      if (count === 0 && job.count > 0) return;
      if (!job.hasBegun) this.#begin(task);
      if (count > 0 && !job.isSettled) {
        this.#open.add(served);
        served.open(this.#room).join(job, count);
        this.#hasJoined = true;
        tokens += length;
      }
      if (job.joined < job.count && !job.isSettled) return;
      this.#queue.shift();
      job.answerIfDone();
    }
  }

  #begin(task: Task): void {
    const { job, served } = task;
    const { prompt, scorePrompt: isScored } = job.request;
    this.#growing.add(task);
    job.weightVersion = this.weightVersion;
    try {
      if (isScored) job.promptLogprobs = scorePrompt(served.decoder, prompt);
    } catch (error) {
      job.fail(error);
    }
  }

  /** How many of a job's further completions the memory has room for. */
  #countThatFits({ job, served }: Task): number {
    const rest = job.count - job.joined;
    const own = served.lane?.prompts ?? [];
    const bytesOf = (prompts: readonly ServedPrompt[]) => servingBytes(this.config, this.engine, prompts);
    const fits = (count: number) => {
      const others = [...this.#open].filter((other) => other !== served && other.lane);
      const taken = others.reduce(
        (sum, { lane }) => sum + layoutBytes(this.config, this.engine.size) + bytesOf(lane!.prompts),
        0,
      );
      return taken + bytesOf([...own, promptOf(job, count)]) <= this.#room;
    };
    if (!fits(rest)) this.closeIdle(served);
    let count = 0;
    while (count < rest && fits(count + 1)) count++;
    return count;
  }

  #advance(served: ServedModel): void {
    const { lane } = served;
    // A listener may have ended the server meanwhile.
    if (!lane) return;
    try {
      this.tokens += lane.advance();
    } catch (error) {
      lane.fail(error);
      served.close();
      this.#open.delete(served);
    }
  }
}
