/** A chess engine that judges positions: one process at a time, started when it is first asked, and again when it dies. */
import type { Analyst, Line } from './analysis.js';
import { linesOf } from './parse-info.js';
import { EngineFailure, EngineProcess, type Question } from './process.js';
import { RecentlyUsed } from './recently-used.js';

/** RookWorld's settings. */
const DEPTH = 10;
const LINES = 5;
/** A position takes some 50 ms; one that takes this long is given up. */
const MILLISECONDS = 10_000;
const START_MILLISECONDS = 30_000;
/** Positions in a row that two processes each failed on, after which the engine is not started again. */
const PATIENCE = 2;
/** Some 100 bytes each. */
const REMEMBERED = 100_000;

export interface EngineOptions {
  depth?: number;
  /** How long a position may take. */
  milliseconds?: number;
  /** How long the engine may take to start. */
  startMilliseconds?: number;
  /** How many positions are remembered; the ones least recently asked for are forgotten. */
  remembered?: number;
}

/** To be closed: ends the process. One left open keeps no process of ours alive. */
export class ChessEngine implements Analyst, Disposable {
  readonly #depth: number;
  readonly #milliseconds: number;
  readonly #startMilliseconds: number;
  readonly #answers: RecentlyUsed<Promise<Answer>>;
  #process: EngineProcess | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #failedInARow = 0;
  #closed = false;
  /** Processes started so far. */
  starts = 0;
  /** Positions analysed so far, which is less than were asked for where some were asked for again. */
  analysed = 0;

  /** @param path - the engine's program, see `findEngine` */
  constructor(
    readonly path: string,
    options: EngineOptions = {},
  ) {
    const { depth = DEPTH, milliseconds = MILLISECONDS, remembered = REMEMBERED } = options;
    this.#depth = depth;
    this.#milliseconds = milliseconds;
    this.#startMilliseconds = options.startMilliseconds ?? START_MILLISECONDS;
    this.#answers = new RecentlyUsed(remembered);
  }

  async best(fen: string): Promise<readonly Line[]> {
    return (await this.#answer(fen, LINES)).lines;
  }

  async value(fen: string): Promise<number> {
    return (await this.#answer(fen, 1)).centipawns;
  }

  [Symbol.dispose](): void {
    this.#process?.[Symbol.dispose]();
    this.#process = undefined;
    this.#closed = true;
  }

  /** Concurrent questions wait for each other; those about one position share an answer, failures are not kept. */
  #answer(fen: string, lines: number): Promise<Answer> {
    const key = `${lines} ${fen}`;
    const known = this.#answers.get(key);
    if (known) return known;
    const question = { fen, depth: this.#depth, lines, milliseconds: this.#milliseconds };
    const answer = this.#queue.then(() => this.#analyse(question));
    this.#queue = answer.catch(() => undefined);
    this.#answers.set(key, answer);
    answer.catch(() => this.#answers.delete(key));
    return answer;
  }

  /** Asks once more, in a process of its own, when the first one fails: it may have died of an earlier position. */
  async #analyse(question: Question): Promise<Answer> {
    if (this.#failedInARow >= PATIENCE) {
      throw new EngineFailure(
        `the engine ${this.path} failed on ${PATIENCE} positions in a row and is not asked again`,
      );
    }
    for (let attempt = 1; ; attempt++) {
      try {
        const answer = await this.#once(question);
        this.#failedInARow = 0;
        return answer;
      } catch (error) {
        this.#process?.[Symbol.dispose]();
        this.#process = undefined;
        if (!(error instanceof EngineFailure)) throw error;
        if (this.#closed) throw error;
        if (attempt < 2) continue;
        this.#failedInARow++;
        throw new EngineFailure(`${error.message}, twice, at the position ${question.fen}`, { cause: error });
      }
    }
  }

  async #once(question: Question): Promise<Answer> {
    const infos = await (await this.#running()).analyse(question);
    const last = infos.findLast(({ rank }) => rank === 1);
    if (!last) throw new EngineFailure(`the engine ${this.path} did not score a position`);
    this.analysed++;
    return { lines: linesOf(infos), centipawns: last.centipawns };
  }

  async #running(): Promise<EngineProcess> {
    if (this.#process?.isAlive && !this.#closed) return this.#process;
    this.#process?.[Symbol.dispose]();
    if (!this.#closed) {
      this.starts++;
      this.#process = await EngineProcess.start(this.path, this.#startMilliseconds);
    }
    if (!this.#closed) return this.#process!;
    this.#process?.[Symbol.dispose]();
    throw new EngineFailure(`the engine ${this.path} was closed`);
  }
}

interface Answer {
  lines: Line[];
  centipawns: number;
}
