/** Tables with a header, whoever prints or saves them: CSV, Markdown, columns of pandas, the rows of a notebook. */
import { excerpt } from '../../../errors/printable.js';
import type { Line } from '../lines.js';
import { producerOf } from '../producers/index.js';
import type { BrokenParts } from '../reading.js';
import { Collector } from '../rows/collector.js';
import { isMetricName, isStep, metricRow, numberOf } from '../rows/metric-row.js';
import { PrintedDecimals } from '../rows/printed-decimals.js';
import type { CollectedLog } from '../rows/run-collector.js';
import type { LogFormat } from './log-format.js';

/** More cells are no table of metrics. */
const MOST_CELLS = 500;
const MOST_CHARACTERS = 50_000;

type Split = (line: string) => string[];

const QUOTED = /(?:^|[,;\t])(?:"((?:[^"]|"")*)"|([^,;\t]*))/g;
/** CSV, whose quotes are taken off. */
const commas: Split = (line) =>
  [...line.trim().matchAll(QUOTED)].map(([, quoted, bare]) =>
    (quoted ?? bare ?? '').replaceAll('""', '"').trim(),
  );
const bars: Split = (line) =>
  line
    .trim()
    .replace(/^\||\|$/g, '')
    .split('|')
    .map((cell) => cell.trim());
const wideSpaces: Split = (line) => line.trim().split(/\s{2,}|\t/);
const spaces: Split = (line) => line.trim().split(/\s+/);

interface Header {
  names: readonly string[];
  split: Split;
  kind: string;
}

const SPLITS: readonly Omit<Header, 'names'>[] = [
  { split: bars, kind: 'table of metrics' },
  { split: commas, kind: 'table of metrics, CSV' },
  { split: wideSpaces, kind: 'table of metrics in columns' },
  { split: spaces, kind: 'table of metrics in columns' },
];

export class Tables implements LogFormat {
  readonly #collector = new Collector();
  readonly #decimals = new PrintedDecimals();
  #header: Header | undefined;
  /** Whether the file is a table from its first line on: then each line must be a row. */
  #isFile = false;
  #lines = 0;

  constructor(
    private readonly file: string,
    private readonly broken: BrokenParts,
  ) {}

  kind({ names }: CollectedLog): string {
    const { name } = producerOf(names);
    return `${name === 'unknown' ? '' : `${name} `}${this.#header!.kind}`;
  }

  take({ line, text }: Line): void {
    if (text.length > MOST_CHARACTERS) return;
    this.#lines++;
    const header = headerOf(text);
    if (header) {
      this.#isFile = this.#lines === 1;
      this.#header = header;
    } else if (this.#header) this.#row(this.#header, line, text);
  }

  finish(): CollectedLog[] {
    const decimals = this.#decimals.result();
    return this.#collector.finish().map((run) => ({ ...run, decimals }));
  }

  #row({ names, split }: Header, line: number, text: string): void {
    const cells = split(text);
    // pandas puts its own number before a row.
    const own = cells.length === names.length + 1 && /^\d+$/.test(cells[0]!) ? cells.slice(1) : cells;
    const row =
      own.length === names.length
        ? metricRow(Object.fromEntries(names.map((name, i) => [name, plain(own[i]!)])))
        : undefined;
    if (row && Object.keys(row.values).length > 0) {
      for (const [i, name] of names.entries()) this.#decimals.see(name, own[i]!);
      this.#collector.add(row, line);
    } else if (this.#isFile && !/^[\s|:+-]*$/.test(text)) {
      const reason =
        own.length === names.length
          ? `no numbers: ${excerpt(text)}`
          : `${cells.length} cells, the header has ${names.length}: ${excerpt(text)}`;
      this.broken.add({ file: this.file, line, reason });
    }
  }
}

/** `12.5%` as a share; bold Markdown as its text. */
function plain(cell: string): string {
  const bare = cell.replace(/^\*\*(.*)\*\*$/, '$1');
  const share = /^([-+]?[\d.]+)\s?%$/.exec(bare);
  return share ? String(numberOf(share[1])! / 100) : bare;
}

/** The names of columns, where the line has a step and metrics among them, and no number. */
function headerOf(text: string): Header | undefined {
  if (!/step|iter|epoch|episode|update|batch/i.test(text)) return undefined;
  for (const { split, kind } of SPLITS) {
    const names = split(text);
    if (names.length < 2 || names.length > MOST_CELLS) continue;
    const isHeader =
      names.some(isStep) &&
      names.some(isMetricName) &&
      names.every((name) => numberOf(name) === undefined && name.length < 200 && !/[{}=]/.test(name));
    if (isHeader) return { names, split, kind };
  }
  return undefined;
}
