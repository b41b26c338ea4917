import type { Cursor } from './cursor.js';
import type { RunFollower } from './run-follower.js';
import { type Item, type RunOutcome, type Sink, Undelivered } from './sink.js';

/** Items that are sent at once. */
const MOST = 100;
/** Seconds between two looks into the run's files. */
const PAUSE = 0.5;
/** Seconds before a second attempt; they double from one to the next. */
const FIRST_WAIT = 1;
const LONGEST_WAIT = 60;
/** The same, where the other side asks for more. A timer of months would end at once. */
const LONGEST_ASKED = 3600;

/** Takes the items of one run to one sink, each once, in their order, and again and again while the sink does not take them. */
export class Delivery {
  #outcome: RunOutcome | undefined;
  #isStopped = false;
  #failures = 0;
  #reason: string | undefined;
  #wake = () => {};

  constructor(
    readonly name: string,
    private readonly sink: Sink,
    private readonly follower: RunFollower,
    private readonly cursor: Cursor,
    private readonly note: (text: string) => void,
    /** Resolves after that many seconds, or when the promise does. */
    private readonly wait: (seconds: number, woken: Promise<void>) => Promise<void>,
  ) {}

  /** Delivers until the run has ended and everything is delivered, or there is no more time. */
  async run(): Promise<void> {
    try {
      while (!this.#isStopped) {
        const outcome = this.#outcome;
        const items = this.follower.next(MOST);
        if (items.length > 0) await this.#deliver(items);
        else if (!outcome) await this.#pause(PAUSE);
        else {
          await this.#deliver([...this.follower.rest(), endOf(outcome)]);
          break;
        }
      }
      await this.sink.close?.();
    } catch (error) {
      // The run does not end for it; the other sinks go on.
      this.#reason = error instanceof Error ? error.message : String(error);
      this.note(`${this.name} broke: ${this.#reason}. The run goes on without it.`);
    }
  }

  /** The run has ended: what is left is delivered, and the end. */
  end(outcome: RunOutcome): void {
    this.#outcome = outcome;
    this.#failures = 0;
    this.#wake();
  }

  /** There is no more time. */
  stop(): void {
    this.#isStopped = true;
    this.#wake();
  }

  /** Steps that the sink has not taken yet, and why the last attempt failed. */
  get left(): { name: string; steps: number; reason: string | undefined } {
    const steps = Math.max(0, this.follower.lastStep - this.cursor.delivered.step);
    return { name: this.name, steps, reason: this.#reason };
  }

  async #deliver(items: readonly Item[]): Promise<void> {
    while (!this.#isStopped) {
      try {
        await this.sink.send(items);
      } catch (error) {
        if (!(error instanceof Undelivered)) throw error;
        await this.#failed(error);
        continue;
      }
      this.cursor.advance(items);
      if (this.#reason !== undefined) this.note(`${this.name} takes the run's numbers again.`);
      this.#reason = undefined;
      this.#failures = 0;
      return;
    }
  }

  async #failed({ message, retryAfterSeconds = 0 }: Undelivered): Promise<void> {
    if (this.#reason === undefined)
      this.note(`${this.name} did not take the run's numbers: ${message}. They wait in the run's folder.`);
    this.#reason = message;
    const wait = Math.min(FIRST_WAIT * 2 ** this.#failures++, LONGEST_WAIT);
    await this.#pause(Math.max(wait, Math.min(retryAfterSeconds, LONGEST_ASKED)));
  }

  #pause(seconds: number): Promise<void> {
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    return this.wait(seconds, woken);
  }
}

const endOf = (outcome: RunOutcome): Item => ({
  kind: 'end',
  step: outcome.steps,
  time: Date.now() / 1000,
  outcome,
});
