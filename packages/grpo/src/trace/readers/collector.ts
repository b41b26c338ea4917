import { sum } from '../../maths/moments.js';
import type { MetricRow } from './metric-row.js';
import { ThinnedLog } from './thinned-log.js';

/** One line of a log with the names that its producer uses. */
export interface RawEntry {
  step: number;
  values: Record<string, number>;
  line?: number;
}

/** Everything that was collected from the rows of a log. */
export interface CollectedLog {
  /** In the order of the steps; at most one a step. */
  entries: RawEntry[];
  /** Rows that had metrics of training, all in all. */
  rows: number;
  /** Every name that any row had. */
  names: ReadonlySet<string>;
  /** Whether steps are only counted, because the log does not tell them. */
  counted: boolean;
  /** Every n-th entry was kept. */
  every: number;
  /** Where a step came that is not after the one before: from, to, and the line. */
  restarts: readonly { from: number; to: number; line?: number }[];
  /** Steps from entry to entry, where nine of ten agree. */
  stride?: number;
  lastStep?: number;
  /** Metrics of the rows that sum up the run. */
  summary?: Readonly<Record<string, number>>;
}

/** Progress of a run, as a bar shows it. */
export interface Progress {
  done: number;
  total: number;
}

const MOST_NAMES = 5000;
/** Entries with a loss or another number that is not finite are kept beyond the others. */
const MOST_NOT_FINITE = 200;

/** Puts rows together into entries of one step each, in bounded memory. */
export class Collector {
  readonly #train = new ThinnedLog<RawEntry>();
  /** Evaluations, which may come in rows of their own. */
  readonly #evaluations = new ThinnedLog<RawEntry>();
  readonly #notFinite: RawEntry[] = [];
  readonly #names = new Set<string>();
  readonly #restarts: { from: number; to: number; line?: number }[] = [];
  readonly #strides = new Map<number, number>();
  readonly #bars = new WeakMap<RawEntry, number>();
  #open: RawEntry | undefined;
  #previous: number | undefined;
  #rows = 0;
  #told = 0;
  #total: number | undefined;
  #lastStep: number | undefined;
  #summary: Record<string, number> | undefined;

  get rows(): number {
    return this.#rows;
  }

  /** Takes the row that the Trainer prints when all is over; what it has of the last steps is an entry, too. */
  addSummary(row: MetricRow, line?: number, progress?: Progress): void {
    this.#summary = { ...this.#summary, ...row.values };
    const values = Object.fromEntries(
      Object.entries(row.values).filter(([name]) => !/^train_|^total_flos$/.test(name)),
    );
    if (Object.keys(values).some((name) => /^rewards?($|\/)/.test(name)))
      this.add({ ...row, values, names: Object.keys(values) }, line, progress);
  }

  /** Takes a row. `progress` is what a progress bar last showed before it. */
  add({ values, step, lastStep, names }: MetricRow, line?: number, progress?: Progress): void {
    this.#rows++;
    for (const name of names) if (this.#names.size < MOST_NAMES) this.#names.add(name);
    if (lastStep !== undefined) this.#lastStep = lastStep;
    const where = line === undefined ? {} : { line };
    if (isEvaluation(values)) {
      this.#evaluations.add({ step: step ?? this.#open?.step ?? 0, values, ...where });
      return;
    }
    if (step !== undefined) this.#told++;
    const at = step ?? (this.#open?.step ?? 0) + 1;
    if (this.#open?.step === at) {
      Object.assign(this.#open.values, values);
      return;
    }
    this.#close();
    if (this.#previous !== undefined && at <= this.#previous) this.#restart(at, where);
    this.#open = { step: at, values, ...where };
    this.#total ??= progress?.total;
    if (progress && progress.total === this.#total) this.#bars.set(this.#open, progress.done);
  }

  finish(): CollectedLog {
    this.#close();
    const train = this.#train.entries();
    const counted = this.#told === 0 && train.length > 0;
    const evaluations = this.#evaluations.entries();
    const byBar = counted && this.#train.every === 1 && this.#numberByBars(train, evaluations);
    const stride = counted && !byBar ? undefined : this.#stride();
    return {
      entries: merged([...train, ...this.#notFinite, ...evaluations]),
      rows: this.#rows,
      names: this.#names,
      counted: counted && !byBar,
      every: this.#train.every,
      restarts: this.#restarts,
      ...(stride !== undefined && { stride }),
      ...(this.#lastStep !== undefined && { lastStep: this.#lastStep }),
      ...(this.#summary && { summary: this.#summary }),
    };
  }

  #close(): void {
    const entry = this.#open;
    if (!entry) return;
    if (this.#previous !== undefined) {
      const stride = entry.step - this.#previous;
      if (this.#strides.size < 1000 || this.#strides.has(stride))
        this.#strides.set(stride, (this.#strides.get(stride) ?? 0) + 1);
    }
    this.#previous = entry.step;
    this.#train.add(entry);
    const broken = Object.values(entry.values).some((value) => !Number.isFinite(value));
    if (broken && this.#notFinite.length < MOST_NOT_FINITE) this.#notFinite.push(entry);
    this.#open = undefined;
  }

  /** A run that was resumed does steps again; what came of them the first time is gone. */
  #restart(step: number, where: { line?: number }): void {
    if (this.#restarts.length < 100) this.#restarts.push({ from: this.#previous!, to: step, ...where });
    this.#train.rewind(step);
    this.#evaluations.rewind(step);
    while (this.#notFinite.length > 0 && this.#notFinite.at(-1)!.step >= step) this.#notFinite.pop();
    this.#previous = undefined;
  }

  /** Numbers the entries by their bars where these rise all the way. */
  #numberByBars(train: readonly RawEntry[], evaluations: readonly RawEntry[]): boolean {
    const bars = train.map((entry) => this.#bars.get(entry));
    if (bars.some((bar, i) => bar === undefined || bar <= (bars[i - 1] ?? 0))) return false;
    const numbered = new Map(train.map(({ step }, i) => [step, bars[i]!]));
    for (const entry of [...train, ...evaluations]) entry.step = numbered.get(entry.step) ?? entry.step;
    this.#strides.clear();
    for (let i = 1; i < bars.length; i++) {
      const stride = bars[i]! - bars[i - 1]!;
      this.#strides.set(stride, (this.#strides.get(stride) ?? 0) + 1);
    }
    return true;
  }

  #stride(): number | undefined {
    const all = sum([...this.#strides.values()]);
    const [stride, count] = [...this.#strides].sort((a, b) => b[1] - a[1])[0] ?? [];
    return count !== undefined && count >= 0.9 * all ? stride : undefined;
  }
}

/** Whether metrics are those of an evaluation alone. */
export const isEvaluation = (values: Readonly<Record<string, number>>): boolean =>
  Object.keys(values).every((name) => /^(eval|val|test)[_/-]|^epoch$|^eval_step$/.test(name));

/** One entry a step, in their order. */
function merged(entries: RawEntry[]): RawEntry[] {
  const bySteps = new Map<number, RawEntry>();
  for (const entry of entries) {
    const known = bySteps.get(entry.step);
    if (known) known.values = { ...known.values, ...entry.values };
    else bySteps.set(entry.step, entry);
  }
  return [...bySteps.values()].sort((a, b) => a.step - b.step);
}
