import { sum } from '../../../maths/moments.js';
import { isMetricName, type MetricRow } from './metric-row.js';
import { ThinnedLog } from './thinned-log.js';

/** One line of a log with the names that its producer uses. */
export interface RawEntry {
  step: number;
  values: Record<string, number>;
  line?: number;
}

/** Everything that was collected from the rows of one run. */
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
  /** Rows that stood in the log once for each rank. */
  repeated: number;
  /** Rows with the step of the row before and other numbers of the same metrics, as of micro-batches or updates. */
  averaged: number;
  /** Decimals that metrics are printed with. */
  decimals?: Readonly<Record<string, number>>;
}

/** Progress of a run, as a bar shows it. */
export interface Progress {
  done: number;
  total: number;
}

const MOST_NAMES = 5000;
/** Entries with a loss or another number that is not finite are kept beyond the others. */
const MOST_NOT_FINITE = 200;

/** Puts the rows of a run together into entries of one step each, in bounded memory. */
export class RunCollector {
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
  #repeated = 0;
  #averaged = 0;
  /** How many rows of the open entry have a metric. */
  readonly #times = new Map<string, number>();
  /** Whether the last entry is out of the row that sums up the run. */
  #isLastSummed = false;
  #first: number | undefined;
  #firstRate: number | undefined;
  #firstEpoch: number | undefined;
  /** Steps of the epochs before, where each counts its own. */
  #offset = 0;
  #before: RawEntry | undefined;
  #total: number | undefined;
  #lastStep: number | undefined;
  #isSummedUp = false;

  get rows(): number {
    return this.#rows;
  }

  /** Whether a row is the first of another run: the run was summed up, or its counts begin anew. */
  isOver({ values, step }: MetricRow): boolean {
    const before = this.#open;
    if (!before || isEvaluation(values) || isSummary(values)) return false;
    if (this.#isSummedUp) return true;
    if (step !== undefined)
      return this.#told > 0 && step < before.step && step <= this.#first! && !this.#nextEpoch(values);
    const [epoch, reached] = [values.epoch, before.values.epoch];
    if (epoch !== undefined && reached !== undefined) return epoch < reached && epoch <= this.#firstEpoch!;
    const [rate, last] = [values.learning_rate, before.values.learning_rate];
    return rate !== undefined && last !== undefined && rate === this.#firstRate && last < rate / 2;
  }

  /** Whether the steps only begin anew because another epoch does. */
  #nextEpoch({ epoch }: Readonly<Record<string, number>>): boolean {
    const before = this.#open!.values.epoch;
    return epoch !== undefined && before !== undefined && epoch > before;
  }

  /** Takes a row. `progress` is what a progress bar last showed before it. */
  add(row: MetricRow, line?: number, progress?: Progress): void {
    if (isSummary(row.values)) this.#sumUp(row, line, progress);
    else if (row.step === undefined && this.#isRepeated(row.values)) this.#repeated++;
    else this.#add(row, line, progress);
  }

  /** Takes the row that the Trainer prints when all is over; what it has of the last steps is an entry, too. */
  #sumUp(row: MetricRow, line: number | undefined, progress: Progress | undefined): void {
    const rows = this.#rows;
    const ofRun = ([name]: [string, number]) => /^(train\/)?(train_|total_flos$)/.test(name);
    const pairs = Object.entries(row.values);
    const values = Object.fromEntries(pairs.filter((pair) => !ofRun(pair)));
    const names = Object.keys(values);
    if (names.some(isMetricName)) this.#add({ ...row, values, names }, line, progress);
    this.#isLastSummed = this.#rows > rows;
    this.#isSummedUp = true;
  }

  /** Whether a row is the one before once more, as each rank prints it: a number that had just changed is the same. */
  #isRepeated(values: Readonly<Record<string, number>>): boolean {
    const [open, before] = [this.#open, this.#before];
    // What never changes may come again.
    if (!open || !before) return false;
    return (
      isSame(values, open.values) &&
      Object.keys(values).some(
        (name) => !Number.isInteger(values[name]) && values[name] !== before.values[name],
      )
    );
  }

  #add({ values, step, lastStep, names }: MetricRow, line?: number, progress?: Progress): void {
    this.#rows++;
    for (const name of names) if (this.#names.size < MOST_NAMES) this.#names.add(name);
    if (lastStep !== undefined) this.#lastStep = lastStep;
    const where = line === undefined ? {} : { line };
    if (isEvaluation(values)) {
      this.#evaluations.add({ step: step ?? this.#open?.step ?? 0, values, ...where });
      return;
    }
    if (step !== undefined) this.#told++;
    if (step !== undefined && this.#open && step <= this.#open.step - this.#offset && this.#nextEpoch(values))
      this.#offset = this.#open.step + Number(step === 0);
    const at = step === undefined ? (this.#open?.step ?? 0) + 1 : step + this.#offset;
    this.#first ??= at;
    this.#firstRate ??= values.learning_rate;
    this.#firstEpoch ??= values.epoch;
    if (this.#open?.step === at) {
      this.#average(this.#open.values, values);
      return;
    }
    this.#close();
    this.#times.clear();
    if (this.#previous !== undefined && at <= this.#previous) this.#restart(at, where);
    this.#open = { step: at, values, ...where };
    this.#total ??= progress?.total;
    if (progress && progress.total === this.#total) this.#bars.set(this.#open, progress.done);
  }

  /** Adds a row to those of its step: of a metric that both have the mean counts. */
  #average(entry: Record<string, number>, values: Readonly<Record<string, number>>): void {
    let differs = false;
    for (const [name, value] of Object.entries(values)) {
      const old = entry[name];
      const times = (this.#times.get(name) ?? 1) + 1;
      if (old === undefined || !Number.isFinite(value)) entry[name] = value;
      else if (Number.isFinite(old)) entry[name] = old + (value - old) / times;
      if (old !== undefined) this.#times.set(name, times);
      differs ||= old !== undefined && value !== old;
    }
    if (differs) this.#averaged++;
  }

  /** The run, where `progress` is what its bar showed last. */
  finish(progress?: Progress): CollectedLog {
    this.#close();
    const train = this.#trained();
    const counted = this.#told === 0 && train.length > 0;
    const evaluations = this.#evaluations.entries();
    const byBar =
      counted &&
      this.#train.every === 1 &&
      (this.#numberByBars(train, evaluations) || this.#numberByTotal(train, evaluations, progress?.done));
    const stride = counted && !byBar ? undefined : this.#stride();
    return {
      entries: merged([...train, ...this.#notFinite, ...evaluations]),
      rows: this.#rows,
      names: this.#names,
      counted: counted && !byBar,
      every: this.#train.every,
      restarts: this.#restarts,
      repeated: this.#repeated,
      averaged: this.#averaged,
      ...(stride !== undefined && { stride }),
      ...(this.#lastStep !== undefined && { lastStep: this.#lastStep }),
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
    this.#before = entry;
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

  /** Numbers the entries by the step that was reached, where only one distance between entries leads to it. */
  #numberByTotal(
    train: readonly RawEntry[],
    evaluations: readonly RawEntry[],
    reached: number | undefined,
  ): boolean {
    if (reached === undefined || evaluations.length > 0) return false;
    // The row that sums up the run may have fewer steps.
    const whole = train.length - Number(this.#isLastSummed);
    const stride = Math.floor(reached / whole);
    if (whole < 1 || stride < 1 || stride * (whole + 1) <= reached || (stride - 1) * (whole + 1) > reached)
      return false;
    for (const [i, entry] of train.entries()) entry.step = Math.min((i + 1) * stride, reached);
    this.#strides.clear();
    this.#strides.set(stride, 1);
    return true;
  }

  /** What is kept of the training; where ranks repeat their rows, the first row stands there as often. */
  #trained(): RawEntry[] {
    const entries = this.#train.entries();
    const [first] = entries;
    if (this.#repeated === 0 || !first) return entries;
    const second = entries.findIndex(({ values }) => !isSame(values, first.values));
    if (second <= 0) return entries;
    this.#repeated += second - 1;
    return [first, ...entries.slice(second)].map((entry, i) => ({ ...entry, step: i + 1 }));
  }

  #stride(): number | undefined {
    const all = sum([...this.#strides.values()]);
    const [stride, count] = [...this.#strides].sort((a, b) => b[1] - a[1])[0] ?? [];
    if (stride === undefined || count! < 0.9 * all) return undefined;
    // One gap alone may be where entries were left out.
    return count === 1 && this.#first! % stride !== 0 ? undefined : stride;
  }
}

const isSame = (a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): boolean =>
  Object.keys(a).length === Object.keys(b).length &&
  Object.keys(a).every((name) => Object.is(a[name], b[name]));

/** Whether a row is what the Trainer prints when all is over. */
const isSummary = (values: Readonly<Record<string, number>>) =>
  Object.hasOwn(values, 'train_runtime') || Object.hasOwn(values, 'train/train_runtime');

/** Whether metrics are those of an evaluation alone. */
export const isEvaluation = (values: Readonly<Record<string, number>>): boolean =>
  Object.keys(values).every((name) => /^(eval|val|test)[_/-]|^epoch$|^eval_step$/.test(name));

/** One entry a step, in their order. */
export function merged(entries: RawEntry[]): RawEntry[] {
  const bySteps = new Map<number, RawEntry>();
  for (const entry of entries) {
    const known = bySteps.get(entry.step);
    if (known) known.values = { ...known.values, ...entry.values };
    else bySteps.set(entry.step, entry);
  }
  return [...bySteps.values()].sort((a, b) => a.step - b.step);
}
