import { wait } from './wait.js';

/** Lets tasks run: so many at a time, so many a second, and none while the server wants to be left alone. */
export class Limiter {
  #free: number;
  readonly #waiting: (() => void)[] = [];
  /** When the next task may start, and when any may: milliseconds of `performance.now()`. */
  #next = 0;
  #paused = 0;

  constructor(
    workers: number,
    private readonly perSecond: number,
  ) {
    this.#free = workers;
  }

  /** Runs a task in its turn; rejects with the signal's reason when that comes first. */
  async run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      signal.throwIfAborted();
      await this.#turn(signal);
      return await task();
    } finally {
      const next = this.#waiting.shift();
      // A worker is handed on, not given back, so that nobody comes between.
      if (next) next();
      else this.#free++;
    }
  }

  /** No task starts for so long. */
  pause(seconds: number): void {
    this.#paused = Math.max(this.#paused, performance.now() + 1000 * seconds);
  }

  async #turn(signal: AbortSignal): Promise<void> {
    // While one waits, the server may ask for a longer pause.
    for (let at = this.#slot(); at > performance.now(); at = Math.max(at, this.#paused))
      await wait((at - performance.now()) / 1000, signal);
  }

  #slot(): number {
    const at = Math.max(performance.now(), this.#next, this.#paused);
    this.#next = at + 1000 / this.perSecond;
    return at;
  }
}
