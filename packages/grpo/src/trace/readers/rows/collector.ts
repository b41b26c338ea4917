import type { MetricRow } from './metric-row.js';
import { type CollectedLog, isEvaluation, type Progress, RunCollector } from './run-collector.js';

/** More runs in one file are not told apart. */
const MOST_RUNS = 100;
/** More rows do not wait for the next step. */
const MOST_WAITING = 1000;

/** A row and where it stands. `progress` is what a progress bar last showed before it. */
type Placed = [row: MetricRow, line?: number, progress?: Progress];

/** Puts the rows of a file together, a run at a time: a file may have several, one after another. */
export class Collector {
  readonly #ended: CollectedLog[] = [];
  #open = new RunCollector();
  /** The rows since the steps went back: only the next step tells whether the run does. */
  readonly #waiting: Placed[] = [];

  /** Rows that had metrics of training, of all runs. */
  get rows(): number {
    return this.#ended.reduce((sum, { rows }) => sum + rows, this.#open.rows);
  }

  /** Takes a row. `progress` is what a progress bar last showed before it. */
  add(...placed: Placed): void {
    const [row] = placed;
    const [back] = this.#waiting[0] ?? [];
    const waits = back && (isEvaluation(row.values) || row.step === back.step);
    if (!waits || this.#waiting.length >= MOST_WAITING) this.#settle(row);
    if (this.#waiting.length > 0 || this.#open.goesBack(row)) this.#waiting.push(placed);
    else this.#take(placed);
  }

  /** The runs in their order, one at least. `progress` is what the last one's bar showed last. */
  finish(progress?: Progress): CollectedLog[] {
    this.#settle();
    return [...this.#ended, this.#open.finish(progress)];
  }

  /** Takes the rows that wait as those of a run that went back, where the next row goes on from them. */
  #settle(next?: MetricRow): void {
    const waiting = this.#waiting.splice(0);
    const [first] = waiting;
    if (!first) return;
    const [back, line] = first;
    const goesOn = next?.step !== undefined && next.step > back.step! && next.step <= this.#open.reached;
    if (!goesOn) {
      const rows = waiting.map(([row]) => row).filter(({ values }) => !isEvaluation(values));
      const values = Object.assign({}, ...rows.map((row) => row.values));
      const names = rows.flatMap((row) => row.names);
      this.#open.insert({ ...back, values, names }, !next, line);
    }
    for (const placed of waiting) if (goesOn || isEvaluation(placed[0].values)) this.#take(placed);
  }

  #take(placed: Placed): void {
    if (this.#open.isOver(placed[0]) && this.#ended.length < MOST_RUNS) {
      this.#ended.push(this.#open.finish());
      this.#open = new RunCollector();
    }
    this.#open.add(...placed);
  }
}
