/** A table with a metric per line: `12<tab>reward<tab>0.5`. */
import type { Line } from '../lines.js';
import { producerOf } from '../producers/index.js';
import { Collector } from '../rows/collector.js';
import { metricRow, numberOf } from '../rows/metric-row.js';
import type { CollectedLog } from '../rows/run-collector.js';
import type { LogFormat } from './log-format.js';

const CELLS = /^\s*(\d+)\s*[\t,;]\s*"?([A-Za-z_][\w./@ -]{0,100}?)"?\s*[\t,;]\s*([-+\w.]+)\s*$/;

export class LongTable implements LogFormat {
  readonly #collector = new Collector();
  #row: { step: string; values: Record<string, unknown>; line: number } | undefined;

  kind({ names }: CollectedLog): string {
    const { name } = producerOf(names);
    return `table with a metric per line${name === 'unknown' ? '' : ` of ${name}`}`;
  }

  take({ line, text }: Line): void {
    const [, step, name, value] = CELLS.exec(text) ?? [];
    const number = value === undefined ? undefined : numberOf(value);
    if (number === undefined) return;
    if (this.#row?.step !== step) {
      this.#close();
      this.#row = { step: step!, values: { step: Number(step) }, line };
    }
    this.#row!.values[name!] = number;
  }

  finish(): CollectedLog[] {
    this.#close();
    return this.#collector.finish();
  }

  #close(): void {
    const row = this.#row && metricRow(this.#row.values);
    if (row) this.#collector.add(row, this.#row!.line);
    this.#row = undefined;
  }
}
