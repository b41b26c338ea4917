import { excerpt } from '../../../errors/printable.js';
import { type CollectedLog, Collector, type Progress } from '../collector.js';
import type { Line } from '../lines.js';
import { dictsIn } from '../literal.js';
import { metricRow } from '../metric-row.js';
import { producerOf } from '../producers/index.js';
import type { BrokenParts } from '../reading.js';
import type { LogFormat } from './log-format.js';

/** tqdm's bar without a label, as the Trainer shows its steps: ` 12%|█▏  | 12/100 [00:10<…`. */
const BAR = /^\s*\d+%\|[^|]*\|\s*(\d+)\/(\d+)\s*\[/;
/** What a dict of metrics has at its beginning, so that half a one can be told from other text. */
const BEGUN = /['"](loss|reward|step|eval_loss|train\/\w+|actor\/\w+|critic\/\w+)['"]\s*:/;

export class Dicts implements LogFormat {
  readonly #collector = new Collector();
  #progress: Progress | undefined;

  constructor(
    private readonly file: string,
    private readonly broken: BrokenParts,
    /** Whether each line must be a row. */
    private readonly onlyRows: boolean,
  ) {}

  get rows(): number {
    return this.#collector.rows;
  }

  kind({ names }: CollectedLog): string {
    const { name } = producerOf(names);
    const whose = name === 'unknown' ? '' : `${name} `;
    return this.onlyRows ? `${whose}metrics, JSON Lines` : `${whose}log`;
  }

  take({ line, text, cut }: Line): void {
    const bar = text.includes('%|') ? BAR.exec(text) : null;
    if (bar) this.#progress = { done: Number(bar[1]), total: Number(bar[2]) };
    if (text.includes('{')) this.#dicts(line, text, cut ?? false);
    else this.#passOver(line, text);
  }

  #dicts(line: number, text: string, cut: boolean): void {
    const whole = this.#whole(text);
    const found = whole ? { dicts: [whole], cut: false } : dictsIn(text);
    for (const dict of found.dicts) this.#row(dict, line);
    const unfinished = (found.cut || cut) && BEGUN.test(text);
    if (unfinished || (found.dicts.length === 0 && BEGUN.test(text))) {
      this.broken.add({ file: this.file, line, reason: `not a whole row: ${excerpt(text.trim())}` });
    } else if (found.dicts.length === 0) this.#passOver(line, text);
  }

  finish(): CollectedLog {
    return this.#collector.finish();
  }

  #row(dict: Record<string, unknown>, line: number): void {
    const row = metricRow(dict);
    if (row?.names.includes('train_runtime')) this.#collector.addSummary(row, line, this.#progress);
    else if (row) this.#collector.add(row, line, this.#progress);
  }

  /** The line as one JSON object: by far the most common, and by far the fastest. */
  #whole(text: string): Record<string, unknown> | undefined {
    if (!/^\s*\{\s*"/.test(text)) return undefined;
    try {
      return JSON.parse(text) as Record<string, unknown>;
    } catch {
      return undefined;
    }
  }

  #passOver(line: number, text: string): void {
    if (this.onlyRows)
      this.broken.add({ file: this.file, line, reason: `not a JSON object: ${excerpt(text.trim())}` });
  }
}
