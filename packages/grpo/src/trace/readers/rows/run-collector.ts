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
  /** Where the steps went back and on from there: from, to, and the line. */
  restarts: readonly { from: number; to: number; line?: number }[];
  /** Steps from entry to entry, where nine of ten agree. */
  stride?: number;
  /** Lines of rows of earlier steps that no other row went on from; they are left out. */
  strays: readonly (number | undefined)[];
  lastStep?: number;
  /** Rows without a step before the first that has one; they are left out. */
  unnumbered: number;
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
/** More places where the steps go back are not told. */
const MOST_PLACES = 100;
/** Entries with a loss or another number that is not finite are kept beyond the others. */
const MOST_NOT_FINITE = 200;

/** Puts the rows of a run together into entries of one step each, in bounded memory. */
export class RunCollector {
  readonly #train = new ThinnedLog<RawEntry>();
  /** Evaluations, which may come in rows of their own. */
  readonly #evaluations = new ThinnedLog<RawEntry>();
  #notFinite: RawEntry[] = [];
  readonly #names = new Set<string>();
  readonly #restarts: { from: number; to: number; line?: number }[] = [];
  readonly #strays: (number | undefined)[] = [];
  readonly #bars = new WeakMap<RawEntry, number>();
  #open: RawEntry | undefined;
  #rows = 0;
  #told = 0;
  #repeated = 0;
  #averaged = 0;
  /** How many rows of the open entry have a metric. */
  readonly #times = new Map<string, number>();
  /** Whether the last entry is out of the row that sums up the run. */
  #isLastSummed = false;
  #first: number | undefined;
  /** Whether rows of earlier steps came behind later ones, as asynchronous trainers write them. */
  #isUnordered = false;
  #firstRate: number | undefined;
  #firstEpoch: number | undefined;
  /** Steps of the epochs before, where each counts its own. */
  #offset = 0;
  #before: RawEntry | undefined;
  #total: number | undefined;
  #lastStep: number | undefined;
  #unnumbered = 0;
  #isSummedUp = false;

  get rows(): number {
    return this.#rows;
  }

  /** Whether a row is the first of another run: the run was summed up, or its counts begin anew. */
  isOver(row: MetricRow): boolean {
    const { values, step } = row;
    const before = this.#open;
    if (!before || isEvaluation(values) || isSummary(values)) return false;
    if (this.#isSummedUp) return true;
    if (step !== undefined) return this.goesBack(row) && step <= this.#first!;
    const [epoch, reached] = [values.epoch, before.values.epoch];
    if (epoch !== undefined && reached !== undefined) return epoch < reached && epoch <= this.#firstEpoch!;
    const [rate, last] = [values.learning_rate, before.values.learning_rate];
    return rate !== undefined && last !== undefined && rate === this.#firstRate && last < rate / 2;
  }

  /** The step of the last row, as it told it. */
  get reached(): number {
    return (this.#open?.step ?? 0) - this.#offset;
  }

  /** Whether a row is of a step before the one that the run has reached. */
  goesBack({ values, step }: MetricRow): boolean {
    if (this.#told === 0 || this.#isSummedUp || step === undefined) return false;
    if (isEvaluation(values) || isSummary(values)) return false;
    return step < this.reached && !this.#nextEpoch(values);
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

  /** Puts a row that stands behind later steps into its place; one that only recalls a step is left out. */
  insert(row: MetricRow, isLast: boolean, line?: number): void {
    const entry = { step: row.step! + this.#offset, values: row.values, ...placeOf(line) };
    if ((isLast && !this.#isUnordered) || !this.#train.insert(entry)) {
      if (this.#strays.length < MOST_PLACES) this.#strays.push(line);
      return;
    }
    this.#isUnordered = true;
    this.#count(row);
    this.#keepNotFinite(entry);
  }

  #count({ names, lastStep }: MetricRow): void {
    this.#rows++;
    for (const name of names) if (this.#names.size < MOST_NAMES) this.#names.add(name);
    if (lastStep !== undefined) this.#lastStep = lastStep;
  }

  #add(row: MetricRow, line?: number, progress?: Progress): void {
    const { values, step } = row;
    const where = placeOf(line);
    this.#count(row);
    if (isEvaluation(values)) {
      const at = step === undefined ? (this.#open?.step ?? 0) : step + this.#offset;
      this.#evaluations.add({ step: at, values, ...where });
      return;
    }
    if (step !== undefined) this.#told++;
    if (step !== undefined && this.#open && step <= this.reached && this.#nextEpoch(values))
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
    if (this.#before && at <= this.#before.step) {
      // Rows without a step stood before the first that has one: they are of no step that could be run again.
      if (step !== undefined && this.#told === 1) this.#unnumbered = this.#rows - 1;
      else if (this.#restarts.length < MOST_PLACES)
        this.#restarts.push({ from: this.#before.step, to: at, ...where });
      this.#goBackTo(at);
    }
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
    const evaluations = this.#evaluations.entries();
    const train = this.#trained(evaluations);
    const counted = this.#told === 0 && train.length > 0;
    const byBar =
      counted &&
      this.#train.every === 1 &&
      (this.#numberByBars(train, evaluations) || this.#numberByTotal(train, evaluations, progress?.done));
    const stride = counted && !byBar ? undefined : strideOf(train, this.#train.every);
    return {
      entries: merged([...train, ...this.#notFinite, ...evaluations]),
      rows: this.#rows,
      names: this.#names,
      counted: counted && !byBar,
      every: this.#train.every,
      restarts: this.#restarts,
      strays: this.#strays,
      unnumbered: this.#unnumbered,
      repeated: this.#repeated,
      averaged: this.#averaged,
      ...(stride !== undefined && { stride }),
      ...(this.#lastStep !== undefined && { lastStep: this.#lastStep }),
    };
  }

  #close(): void {
    const entry = this.#open;
    if (!entry) return;
    this.#before = entry;
    this.#train.add(entry);
    this.#keepNotFinite(entry);
    this.#open = undefined;
  }

  #keepNotFinite(entry: RawEntry): void {
    const broken = Object.values(entry.values).some((value) => !Number.isFinite(value));
    if (broken && this.#notFinite.length < MOST_NOT_FINITE) this.#notFinite.push(entry);
  }

  /** A run that was resumed does steps again; what came of them the first time is gone. */
  #goBackTo(to: number): void {
    this.#train.rewind(to);
    this.#evaluations.rewind(to);
    this.#notFinite = this.#notFinite.filter(({ step }) => step < to);
  }

  /** Numbers the entries by their bars where these rise all the way. */
  #numberByBars(train: readonly RawEntry[], evaluations: readonly RawEntry[]): boolean {
    const bars = train.map((entry) => this.#bars.get(entry));
    if (bars.some((bar, i) => bar === undefined || bar <= (bars[i - 1] ?? 0))) return false;
    const numbered = new Map(train.map(({ step }, i) => [step, bars[i]!]));
    for (const entry of [...train, ...evaluations]) entry.step = numbered.get(entry.step) ?? entry.step;
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
    return true;
  }

  /** What is kept of the training; where ranks repeat their rows, the first row stands there as often. */
  #trained(evaluations: readonly RawEntry[]): RawEntry[] {
    const entries = this.#train.entries();
    const [first] = entries;
    if (this.#repeated === 0 || !first) return entries;
    const copies = entries.findIndex(({ values }) => !isSame(values, first.values)) - 1;
    if (copies <= 0) return entries;
    this.#repeated += copies;
    for (const entry of new Set([...entries, ...this.#notFinite, ...evaluations]))
      entry.step = Math.max(1, entry.step - copies);
    return [first, ...entries.slice(copies + 1)];
  }
}

/** Steps from entry to entry where every n-th is kept; undefined unless nine of ten agree. */
function strideOf(entries: readonly RawEntry[], every: number): number | undefined {
  const counts = new Map<number, number>();
  for (const [i, { step }] of entries.slice(1).entries()) {
    const stride = (step - entries[i]!.step) / every;
    counts.set(stride, (counts.get(stride) ?? 0) + 1);
  }
  const [stride, count] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? [];
  if (stride === undefined || count! < 0.9 * (entries.length - 1)) return undefined;
  // One gap alone may be where entries were left out.
  return count === 1 && entries[0]!.step % stride !== 0 ? undefined : stride;
}

const placeOf = (line: number | undefined) => (line === undefined ? {} : { line });

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
