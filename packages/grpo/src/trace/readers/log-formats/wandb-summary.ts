/** What W&B prints when a run ends: the last value of each metric. */
import type { Line } from '../lines.js';
import { producerOf } from '../producers/index.js';
import { Collector } from '../rows/collector.js';
import { metricRow, numberOf } from '../rows/metric-row.js';
import type { CollectedLog } from '../rows/run-collector.js';
import type { LogFormat } from './log-format.js';

/** `wandb:     train/reward 0.5` */
const VALUE = /^\s*wandb:\s+([A-Za-z_][\w./@ -]{0,100}?)\s+(\S+)\s*$/;
const BEGINS = /^\s*wandb:\s+Run summary:/;

export class WandbSummary implements LogFormat {
  readonly #collector = new Collector();
  #values: Record<string, unknown> | undefined;
  #line = 0;

  kind({ names }: CollectedLog): string {
    const { name } = producerOf(names);
    return `summary that W&B printed${name === 'unknown' ? '' : ` of a run of ${name}`}`;
  }

  take({ line, text }: Line): void {
    if (!text.includes('wandb:')) return;
    if (BEGINS.test(text)) {
      this.#close();
      this.#values = {};
      this.#line = line;
    }
    const [, name, value] = this.#values ? (VALUE.exec(text) ?? []) : [];
    const number = value === undefined ? undefined : numberOf(value);
    if (number !== undefined) this.#values![name!] = number;
  }

  finish(): CollectedLog[] {
    this.#close();
    return this.#collector.finish();
  }

  #close(): void {
    const row = this.#values && metricRow(this.#values);
    if (row) this.#collector.add(row, this.#line);
    this.#values = undefined;
  }
}
