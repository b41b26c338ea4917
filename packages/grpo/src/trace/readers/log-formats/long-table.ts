/** A table with a metric per line: `12<tab>reward<tab>0.5`, or `| 12 | reward | 0.5 | 0.6 |` with a column for each run. */
import type { Line } from '../lines.js';
import { producerOf } from '../producers/index.js';
import { Collector } from '../rows/collector.js';
import { isStep, metricRow, numberOf } from '../rows/metric-row.js';
import type { CollectedLog } from '../rows/run-collector.js';
import { NAMES_HEAD, plain, withoutMarks, withoutRemark } from './cells.js';
import type { LogFormat } from './log-format.js';

const CELLS = /^\s*(\d+)\s*[\t,;]\s*"?([A-Za-z_][\w./@ -]{0,100}?)"?\s*[\t,;]\s*([-+\w.]+)\s*$/;
const MOST_CHARACTERS = 2000;

/** A run of the table, and its step that is being told. */
interface Run {
  collector: Collector;
  row?: { step: string; values: Record<string, unknown>; line: number };
}

export class LongTable implements LogFormat {
  /** By the column that has a run's values. */
  readonly #runs = new Map<number, Run>();
  /** Cells of the header above, if it was one. */
  #width = 0;

  kind({ names }: CollectedLog): string {
    const { name } = producerOf(names);
    return `table with a metric per line${name === 'unknown' ? '' : ` of ${name}`}`;
  }

  take({ line, text }: Line): void {
    const [, step, name, value] = CELLS.exec(text) ?? [];
    if (value !== undefined) this.#add(2, step!, name!, value, line);
    else if (text.includes('|') && text.length < MOST_CHARACTERS) this.#bars(text, line);
  }

  finish(): CollectedLog[] {
    for (const run of this.#runs.values()) close(run);
    const all = [...this.#runs.values()].map(({ collector }) => collector);
    return (all.length > 0 ? all : [new Collector()]).flatMap((collector) => collector.finish());
  }

  #bars(text: string, line: number): void {
    const cells = text
      .trim()
      .replace(/^\||\|$/g, '')
      .split('|')
      .map(withoutMarks);
    const [step = '', name = '', ...values] = cells;
    if (isStep(step) && NAMES_HEAD.test(name)) this.#width = cells.length;
    else if (cells.length === this.#width && /^\d+$/.test(step))
      for (const [i, value] of values.entries())
        this.#add(i + 2, step, withoutRemark(name), plain(value, name), line);
  }

  #add(column: number, step: string, name: string, text: string, line: number): void {
    const number = numberOf(text);
    if (number === undefined) return;
    const run = this.#runs.get(column) ?? { collector: new Collector() };
    this.#runs.set(column, run);
    if (run.row?.step !== step) {
      close(run);
      run.row = { step, values: { step: Number(step) }, line };
    }
    run.row!.values[name] = number;
  }
}

function close(run: Run): void {
  const row = run.row && metricRow(run.row.values);
  if (row) run.collector.add(row, run.row!.line);
  delete run.row;
}
