import type { MetricRow } from './metric-row.js';
import { type CollectedLog, type Progress, RunCollector } from './run-collector.js';

/** More runs in one file are not told apart. */
const MOST_RUNS = 100;

/** Puts the rows of a file together, a run at a time: a file may have several, one after another. */
export class Collector {
  readonly #ended: CollectedLog[] = [];
  #open = new RunCollector();

  /** Rows that had metrics of training, of all runs. */
  get rows(): number {
    return this.#ended.reduce((sum, { rows }) => sum + rows, this.#open.rows);
  }

  /** Takes a row. `progress` is what a progress bar last showed before it. */
  add(row: MetricRow, line?: number, progress?: Progress): void {
    if (this.#open.isOver(row) && this.#ended.length < MOST_RUNS) {
      this.#ended.push(this.#open.finish());
      this.#open = new RunCollector();
    }
    this.#open.add(row, line, progress);
  }

  /** The runs in their order, one at least. `progress` is what the last one's bar showed last. */
  finish(progress?: Progress): CollectedLog[] {
    return [...this.#ended, this.#open.finish(progress)];
  }
}
