/** One process of a UCI engine. It answers one question at a time and is of no use after its first failure. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { quoteExcerpt } from '../fen.js';
import { type Info, parseInfo } from './parse-info.js';

/** A position to analyse, and the limits of the analysis. */
export interface Question {
  fen: string;
  depth: number;
  /** Number of best moves to return. */
  lines: number;
  /** How long the answer may take. */
  milliseconds: number;
}

/** The engine died, hung, or never was one. */
export class EngineFailure extends Error {}

const OPTIONS = { Threads: 1, Hash: 32 } as const;

/** A call that waits for a line of the engine. */
interface Waiting {
  line(text: string): void;
  fail(reason: string): void;
}

/** To be closed; an open one does not keep Node alive while nothing is asked. */
export class EngineProcess implements Disposable {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #kill = () => void this.#child.kill('SIGKILL');
  #waiting: Waiting | undefined;
  #failure: string | undefined;
  #lines = 0;

  private constructor(readonly path: string) {
    this.#child = spawn(path, { stdio: 'pipe' });
    const { stdin, stdout, stderr } = this.#child;
    this.#child.on('error', (error) => this.#fail(`cannot be started: ${error.message}`));
    this.#child.on('exit', (code, signal) =>
      this.#fail(signal ? `was ended by ${signal}` : `ended with exit code ${code}`),
    );
    // It dies between two writes: the exit above says so.
    stdin.on('error', () => undefined);
    stderr.resume();
    createInterface({ input: stdout }).on('line', (text) => this.#waiting?.line(text.trim()));
    process.once('exit', this.#kill);
    this.#child.unref();
    for (const stream of [stdin, stdout, stderr]) if (stream instanceof Socket) stream.unref();
  }

  /**
   * Starts an engine.
   *
   * @param milliseconds - how long it may take
   * @throws EngineFailure
   */
  static async start(path: string, milliseconds: number): Promise<EngineProcess> {
    const engine = new EngineProcess(path);
    try {
      await engine.#ask(['uci'], 'uciok', milliseconds);
      const options = Object.entries(OPTIONS).map(([name, value]) => `setoption name ${name} value ${value}`);
      await engine.#ask([...options, 'isready'], 'readyok', milliseconds);
      return engine;
    } catch (error) {
      engine[Symbol.dispose]();
      throw error;
    }
  }

  /** Whether it can still be asked. */
  get isAlive(): boolean {
    return this.#failure === undefined;
  }

  /**
   * Asks the engine about the best moves, and returns its lines in their order. It forgets earlier positions first, so
   * that the answer depends on nothing but the question.
   * @throws EngineFailure
   */
  async analyse({ fen, depth, lines, milliseconds }: Question): Promise<Info[]> {
    const infos: Info[] = [];
    const settings = [`setoption name MultiPV value ${lines}`, 'ucinewgame', 'isready'];
    await this.#ask(settings, 'readyok', milliseconds);
    const commands = [`position fen ${fen}`, `go depth ${depth}`];
    await this.#ask(commands, 'bestmove', milliseconds, (text) => {
      const info = parseInfo(text);
      if (info) infos.push(info);
    });
    return infos;
  }

  [Symbol.dispose](): void {
    this.#fail('was closed');
    process.removeListener('exit', this.#kill);
    this.#kill();
  }

  /** Sends commands and reads lines up to the one that begins with `end`. */
  #ask(
    commands: readonly string[],
    end: string,
    milliseconds: number,
    read?: (text: string) => void,
  ): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#error(this.#failure));
    return new Promise((resolve, reject) => {
      // The timer also keeps Node alive meanwhile.
      const timer = setTimeout(() => this.#fail(this.#silence(end, milliseconds)), milliseconds);
      const settle = () => {
        clearTimeout(timer);
        this.#waiting = undefined;
      };
      this.#waiting = {
        line: (text) => {
          this.#lines++;
          if (text.split(' ', 1)[0] !== end) return read?.(text);
          settle();
          resolve();
        },
        fail: (reason) => {
          settle();
          reject(this.#error(reason));
        },
      };
      this.#child.stdin.write(commands.map((command) => `${command}\n`).join(''));
    });
  }

  #fail(reason: string): void {
    this.#failure ??= reason;
    this.#waiting?.fail(reason);
    this.#kill();
  }

  #silence(end: string, milliseconds: number): string {
    const said = this.#lines === 0 ? ' and never said anything: it is not a UCI engine, or it hangs' : '';
    return `did not say ${end} within ${milliseconds / 1000} s${said}`;
  }

  #error(reason: string): EngineFailure {
    return new EngineFailure(`the engine ${quoteExcerpt(this.path)} ${reason}`);
  }
}
