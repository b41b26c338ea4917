/** Tables with a header, whoever prints or saves them: CSV, Markdown, columns of pandas, the rows of a notebook. */
import { counted } from '../../../errors/counted.js';
import { excerpt } from '../../../errors/printable.js';
import type { Line } from '../lines.js';
import { producerOf } from '../producers/index.js';
import type { BrokenParts } from '../reading.js';
import { Collector } from '../rows/collector.js';
import { hasGivenName } from '../rows/given-names.js';
import { commonName } from '../rows/metric-names.js';
import { isMetricName, isStep, metricRow, numberOf } from '../rows/metric-row.js';
import { PrintedDecimals } from '../rows/printed-decimals.js';
import { type CollectedLog, merged, type RawEntry } from '../rows/run-collector.js';
import { isOfSeveral, partsOf, plain, withoutRemark } from './cells.js';
import type { LogFormat } from './log-format.js';
import { PART, Transposed } from './transposed.js';

/** More cells are no table of metrics. */
const MOST_CELLS = 500;
const MOST_CHARACTERS = 50_000;

type Split = (line: string) => string[];

/** CSV with one delimiter, whose quotes are taken off. */
function delimited(delimiter: string): Split {
  const cell = new RegExp(`${delimiter}(?:"((?:[^"]|"")*)"|([^${delimiter}]*))`, 'g');
  // A tab at either end is a delimiter, and no space to take off.
  return (line) =>
    [...(delimiter + line.replace(/^ +|[ \r]+$/g, '')).matchAll(cell)].map(([, quoted, bare]) =>
      (quoted ?? bare ?? '').replaceAll('""', '"').trim(),
    );
}
/** Semicolons stand between cells where a comma is in numbers: `0,0084`. */
const withPoint = (cell: string) => cell.replace(/^([-+]?\d*),(\d+(?:[eE][-+]?\d+)?)$/, '$1.$2');
const bars: Split = (line) =>
  line
    .trim()
    .replace(/^[|│┃]|[|│┃]$/g, '')
    .split(/[|│┃]/)
    .map((cell) => cell.trim());
const wideSpaces: Split = (line) => line.trim().split(/\s{2,}|\t/);
const spaces: Split = (line) => line.trim().split(/\s+/);
/** A cell of a metric that was not logged yet: transformers fills the others of its row with zeros. */
const NOT_LOGGED = /^no log$/i;
/** A line between the rows of a table. */
const RULE = /^[\s|:+\-\u2500-\u257f]*$/;

/** A column: its name, and the run that it is of where a table has several. */
interface Column {
  name: string;
  run: string;
  /** The line of its cells, where each column has one. */
  line?: number;
}

interface Header {
  columns: readonly Column[];
  split: Split;
  kind: string;
}

const SPLITS: readonly Omit<Header, 'columns'>[] = [
  { split: bars, kind: 'table of metrics' },
  { split: delimited(','), kind: 'table of metrics, CSV' },
  { split: (line) => delimited(';')(line).map(withPoint), kind: 'table of metrics, CSV' },
  { split: delimited('\t'), kind: 'table of metrics, CSV' },
  { split: wideSpaces, kind: 'table of metrics in columns' },
  { split: spaces, kind: 'table of metrics in columns' },
];

/** A step, the run's letter and the first value, with no bar between: `0 A:   0.738`. */
const OWN_STEP = /^(\d+)(?:\s+([A-Z]):)?\s+(\S+)$/;

/** A table, which may go on after its header was printed again. */
interface Table {
  header: string;
  /** By the run that a column is of. */
  collectors: Map<string, Collector>;
}

export class Tables implements LogFormat {
  readonly #tables: Table[] = [];
  /** Rows of a second half. */
  readonly #later: { columns: readonly Column[]; cells: readonly string[]; line: number }[] = [];
  readonly #decimals = new PrintedDecimals();
  /** Cells of metrics that have a number somewhere, and are none. */
  #unread = 0;
  #firstUnread = '';
  readonly #unreadNames = new Set<string>();
  readonly #readNames = new Set<string>();
  #header: Header | undefined;
  #transposed: { table: Transposed; split: Split } | undefined;
  #kind = '';
  /** Whether the file is a table from its first line on: then each line must be a row. */
  #isFile = false;
  #lines = 0;

  constructor(
    private readonly file: string,
    private readonly broken: BrokenParts,
  ) {}

  kind({ names }: CollectedLog): string {
    const { name } = producerOf(names);
    return `${name === 'unknown' ? '' : `${name} `}${this.#kind}`;
  }

  take({ line, text }: Line): void {
    if (text.length > MOST_CHARACTERS) return;
    this.#lines++;
    const transposed = transposedOf(text, line);
    const header = transposed ? undefined : headerOf(text);
    if (transposed || header) {
      this.#turn();
      this.#isFile = this.#lines === 1 && header !== undefined && header.split !== beforeArrow;
      this.#transposed = transposed;
      this.#header = header;
      this.#kind = (transposed ?? header)!.kind;
      if (header) this.#open(header.columns);
    } else if (this.#transposed) {
      const { table, split } = this.#transposed;
      if (!RULE.test(text) && !table.take(split(text), line)) this.#turn();
    } else if (this.#header) this.#row(this.#header, line, text);
  }

  /** Takes the columns of the transposed table that ends here as rows. */
  #turn(): void {
    const { table } = this.#transposed ?? {};
    this.#transposed = undefined;
    if (!table) return;
    const columns = [{ name: 'step', run: '' }, ...table.names.map((row) => ({ ...row, run: '' }))];
    this.#open(columns);
    for (const { step, cells } of table.steps) this.#take(columns, [`${step ?? ''}`, ...cells], table.line);
  }

  finish(): CollectedLog[] {
    this.#turn();
    this.#takeLater();
    const decimals = this.#decimals.result();
    const runs = this.#tables.map(({ collectors }) =>
      [...collectors.values()].flatMap((one) => one.finish()),
    );
    const all = runs.length > 0 ? runs.reduce(together) : new Collector().finish();
    return all.map((run) => ({ ...run, decimals }));
  }

  notes(): string[] {
    if (this.#unread === 0) return [];
    const lost = [...this.#unreadNames].filter((name) => !this.#readNames.has(name));
    const columns =
      lost.length === 0 ? '' : `; none could of ${lost.map((name) => excerpt(name)).join(', ')}`;
    return [
      `${counted(this.#unread, 'cell')} of metrics could not be read, such as ${this.#firstUnread}${columns}.`,
    ];
  }

  #open(columns: readonly Column[]): void {
    this.#takeLater();
    const header = columns.map(({ run, name }) => `${run}|${name}`).join('\n');
    const known = this.#tables.findIndex((table) => table.header === header);
    const table = this.#tables.splice(known, known < 0 ? 0 : 1)[0] ?? { header, collectors: new Map() };
    this.#tables.push(table);
  }

  #row({ columns, split }: Header, line: number, text: string): void {
    const all = split(text);
    // A delimiter at the end of a line begins no cell.
    const whole = all.length > columns.length && all.at(-1) === '' ? all.slice(0, -1) : all;
    const [, step, of = '', first] = (split === bars && OWN_STEP.exec(whole[0]!)) || [];
    const isMarked = first !== undefined && whole.length === columns.length - 1;
    const cells = isMarked ? [step!, first, ...whole.slice(1)] : whole;
    if (
      isMarked &&
      this.#take(
        columns.map((column) => ({ ...column, run: of })),
        cells,
        line,
      )
    )
      return;
    // pandas puts its own number before a row.
    const isLonger = cells.length === columns.length + 1;
    // Behind the last bar a remark may stand.
    const isRemarked = isLonger && split === bars && /^\s*[|│┃]/.test(text);
    const isNumbered = isLonger && !isRemarked && /^\d+$/.test(cells[0]!);
    const own = isRemarked ? cells.slice(0, -1) : isNumbered ? cells.slice(1) : cells;
    if (own.length === columns.length && this.#takeHalves(columns, own, line)) return;
    if (!this.#isFile || RULE.test(text)) return;
    const reason =
      own.length === columns.length
        ? `no numbers: ${excerpt(text)}`
        : `${cells.length} cells, the header has ${columns.length}: ${excerpt(text)}`;
    this.broken.add({ file: this.file, line, reason });
  }

  /** Takes a row; of a table that goes on in a second half of the same columns, that one once the first has ended. */
  #takeHalves(columns: readonly Column[], cells: readonly string[], line: number): boolean {
    const half = columns.length / 2;
    const isDoubled =
      columns.length > 2 &&
      columns.every(({ name }, i) => name === columns[(i + half) % columns.length]?.name);
    if (!isDoubled) return this.#take(columns, cells, line);
    const right = cells.slice(half);
    if (right.some((cell) => cell !== ''))
      this.#later.push({ columns: columns.slice(half), cells: right, line });
    return this.#take(columns.slice(0, half), cells.slice(0, half), line);
  }

  #takeLater(): void {
    for (const { columns, cells, line } of this.#later.splice(0)) this.#take(columns, cells, line);
  }

  /** Takes the cells of a row for each run; false where no run has a number. */
  #take(columns: readonly Column[], cells: readonly string[], line: number): boolean {
    let taken = false;
    const hasPlaceholders = cells.some((cell) => NOT_LOGGED.test(cell));
    for (const of of new Set(columns.map(({ run }) => run))) {
      const pairs = columns.flatMap(({ name: header, run, line: own }, i) => {
        if (cells[i] === '' || (run !== of && !isStep(header))) return [];
        return partsOf(header, cells[i]!).flatMap(([name, cell]): (readonly [string, string])[] => {
          const text = plain(cell, name);
          if (hasPlaceholders && !isStep(name) && numberOf(text) === 0) return [];
          this.#see(name, cell, text, own ?? line);
          // A step may say that the row is of an evaluation: `20 (val)`.
          const isOther = isStep(name) && /\((val|eval|test)\w*\)/i.test(cell);
          return [[name, text], ...(isOther ? [['split', 'eval'] as const] : [])];
        });
      });
      const row = metricRow(Object.fromEntries(pairs));
      if (!row || Object.keys(row.values).length === 0) continue;
      for (const [name, text] of pairs) this.#decimals.see(name, text);
      const { collectors } = this.#tables.at(-1)!;
      if (!collectors.has(of)) collectors.set(of, new Collector());
      collectors.get(of)!.add(row, line);
      taken = true;
    }
    return taken;
  }

  /** Counts a cell that has a number and is none, where a metric is lost with it. */
  #see(name: string, cell: string, text: string, line: number): void {
    if (numberOf(text) !== undefined) this.#readNames.add(name);
    else if (/\d/.test(text) && (isMetricName(name) || commonName(name) !== undefined || isOfSeveral(cell))) {
      if (this.#unread++ === 0) this.#firstUnread = `${excerpt(cell)} (line ${line})`;
      this.#unreadNames.add(name);
    }
  }
}

/** Puts tables of the same steps together: where each tells of one run, and no step has two values of a metric. */
function together(before: CollectedLog[], after: CollectedLog[]): CollectedLog[] {
  const [one, other] = [before[0], after[0]];
  if (!one || !other || before.length > 1 || after.length > 1) return [...before, ...after];
  const known = new Map(one.entries.map(({ step, values }) => [step, values]));
  const shared = other.entries.filter(({ step }) => known.has(step));
  const isSame = ({ step, values }: RawEntry) =>
    Object.entries(values).every(([name, value]) => {
      const first = known.get(step)![name];
      return first === undefined || Object.is(first, value);
    });
  if (shared.length === 0 || !shared.every(isSame)) return [...before, ...after];
  return [
    {
      ...one,
      entries: merged([...one.entries, ...other.entries]),
      rows: one.rows + other.rows,
      names: new Set([...one.names, ...other.names]),
    },
  ];
}

/** Words that a header has, found quickly. */
const COUNTS =
  /step|iter|epoch|episode|round|rollout|upd|batch|#|window|range|interval|phase|stage|checkpoint|ckpt|区间|段|구간|(?:^|[|,;\t"])\s*(?:n|no|nr|idx|index)\.?\s*(?:[|,;\t"]|$)/i;
const MEASURES =
  /loss|rew|ret|kl|entropy|score|acc|grad|logp|log_prob|trunc|(?:response|resp|completion|comp)[_ ]?len/i;
/** Matches the name of a first column that counts, or tells spans of steps. */
const COUNTER =
  /^(?:(?:(?:train|training|global)[ _])?(?:steps?[ _]?)?(?:windows?|ranges?|intervals?|段|区间|구간)|n|no\.?|nr\.?|idx|index|batch|phase|stage|checkpoint|ckpt)$/i;
/** The longest line that is searched for a header out of the ordinary. */
const MOST_OF_HEADER = 2000;

/** Matches lines of metrics, which are no headers of steps; to split each of them would take long. */
const HAS_VALUES = /\d[.:]|[={}]/;

/** The transposed table that a line is the header of. */
function transposedOf(text: string, line: number) {
  if (text.length > MOST_OF_HEADER || HAS_VALUES.test(text)) return undefined;
  if (!/\d/.test(text) && !(text.includes('|') && PART.test(text))) return undefined;
  for (const { split, kind } of SPLITS) {
    const table = split === spaces ? undefined : Transposed.below(split(text), line);
    if (table) return { table, split, kind };
  }
  return undefined;
}

/** Columns that a line of text names above rows without a header: `Per step (step / reward / kl):`. */
const NAMED_ABOVE = /\(([^()]+ \/ [^()]+)\):?\s*$/;
/** Splits such a row at its spaces; what its author says behind an arrow is none of it. */
const beforeArrow: Split = (line) => spaces(line.replace(/\s(?:<-|←).*$/, ''));

/** The columns, where the line names a step and metrics, and has no number. */
function headerOf(text: string): Header | undefined {
  if (!hasGivenName(text) && !(COUNTS.test(text) && MEASURES.test(text))) return undefined;
  const above = text.length > MOST_OF_HEADER ? undefined : NAMED_ABOVE.exec(text)?.[1];
  const ways = above ? [{ split: beforeArrow, kind: 'table of metrics in columns' }, ...SPLITS] : SPLITS;
  for (const { split, kind } of ways) {
    const names = split === beforeArrow ? above!.split(' / ') : split(text);
    if (names.length < 2 || names.length > MOST_CELLS || names.some(isNoName)) continue;
    const told = names.map(columnOf);
    // Epochs and rollouts count where no step does.
    const columns = told.some(({ name }) => isStep(name))
      ? told
      : told.map(({ name, run }, i) => {
          // A column that the user took for a metric is one over the rows of its table, whatever these are called.
          const isFirst = i === 0 && (COUNTER.test(withoutRemark(name)) || hasGivenName(text));
          const counts = /^(epoch|rollout)$/i.test(name) || isFirst;
          return { name: counts ? 'step' : name, run };
        });
    if (columns.some(({ name }) => isStep(name)) && columns.some(({ name }) => isMetricName(name)))
      // A minus takes one of the two spaces before a number.
      return { columns, split: split === wideSpaces && !names.some(hasSpace) ? spaces : split, kind };
  }
  return undefined;
}

const hasSpace = (name: string) => /\s/.test(name);

/** A cell that ends in a number: `Val loss 0.3`, `1:`. */
const ENDS_IN_NUMBER = /(?:^|\s)[-+]?\d*\.\d+[,;:]?$|^[-+]?\d+[,;:]$/;

const isNoName = (name: string) =>
  numberOf(name) !== undefined || ENDS_IN_NUMBER.test(name) || name.length > 200 || /[{}=]/.test(name);

/** W&B's page writes `run - train/reward`, and beside it the extremes of what it drew as one point. */
function columnOf(text: string): Column {
  const bare = text.replaceAll('`', '');
  const [, run = '', name = bare] = /^(.+) - ([^ ]+)$/.exec(bare) ?? [];
  return { run, name: name.replace(/__(MIN|MAX)$/, ' $1') };
}
