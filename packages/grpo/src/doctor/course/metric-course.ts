/** The way of one metric through a run: where it began, where it ended, how noisy it is, and when its level changed. */
import { mean, moments } from '../../maths/moments.js';
import { median } from '../../maths/quantile.js';
import { directionOf, type Gain, gainOver, isStraight } from '../../maths/trend.js';
import { formatValue } from '../sentence.js';
import { type Segment, segmentsOf } from './segments.js';

/** A value of a metric and the step that it stands at. */
export interface Point {
  step: number;
  value: number;
}

/** A lasting change from one level to another. */
export interface Shift {
  from: number;
  to: number;
  /** The first step on the side of the new level. */
  step: number;
  /** How many standard errors the two levels lie apart. */
  beyond: number;
  /** Whether it came little by little: a straight line fits it clearly better than two levels. */
  isDrift?: boolean;
}

/** Fewer points have no bounds of a line. */
const FEWEST_OF_LINE = 8;
/** As many points are looked at; of more, neighbours are averaged. */
const MOST = 400;

export class MetricCourse {
  readonly points: readonly Point[];
  /** Deviation of a point from its level, on the scale that the metric is judged on. */
  readonly noise: number;
  /** The points that are looked at, and their values on the scale of the metric. */
  readonly #seen: readonly Point[];
  readonly #scaled: readonly number[];
  #segments: Segment[] | undefined;

  /**
   * @param floor - of a metric that is judged by its ratio: smaller values count as this. Without it differences count.
   */
  constructor(
    points: readonly Point[],
    readonly floor?: number,
  ) {
    this.points = points;
    this.#seen = thinned(points);
    this.#scaled = this.#seen.map(({ value }) => this.#toScale(value));
    this.noise = noiseOf(this.#scaled);
  }

  /** Mean of the first eighth, on the scale of the metric. */
  get start(): number {
    return this.#levelOf(0, this.#eighth);
  }

  /** Mean of the last eighth. */
  get end(): number {
    return this.#levelOf(this.#scaled.length - this.#eighth, this.#scaled.length);
  }

  /** Mean of all points, each as it is. */
  get mean(): number {
    return mean(this.points.map(({ value }) => value));
  }

  /** The share of the points that fulfil the test. */
  share(test: (value: number) => boolean): number {
    return this.points.filter(({ value }) => test(value)).length / this.points.length;
  }

  /** The one value that most points have to the digit, the first step with it, and their share. */
  get pinned(): { value: number; step: number; share: number } {
    const counts = new Map<number, number>();
    for (const { value } of this.points) counts.set(value, (counts.get(value) ?? 0) + 1);
    const [value, count] = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a));
    const { step } = this.points.find((point) => point.value === value)!;
    return { value, step, share: count / this.points.length };
  }

  /** The straight line through all points by their steps. */
  get line(): Gain {
    return gainOver(
      this.points.map(({ value }) => value),
      this.points.map(({ step }) => step),
    );
  }

  /** Whether that line surely rises or falls; undefined where it may do neither, or for too few points. */
  get direction(): 'rises' | 'falls' | undefined {
    return this.points.length < FEWEST_OF_LINE ? undefined : directionOf(this.line);
  }

  /** From the first eighth to the last. */
  get shift(): Shift {
    return this.#shift({ from: 0, to: this.#eighth });
  }

  /**
   * From the highest level that lasted for an eighth of the run, or was its start, to the last eighth; how far beyond the
   * noise, all since the turn tells, by its own scatter, too: a few low entries are no fall.
   */
  get fall(): Shift {
    const [n, eighth] = [this.#scaled.length, this.#eighth];
    const lasting = this.#stretches.filter(({ from, to }) => to - from >= eighth || from === 0);
    const best = lasting.reduce((a, b) => (b.level > a.level ? b : a));
    const fall = this.#shift(best);
    const turn = this.points.findIndex(({ step }) => step >= fall.step);
    const since = { from: Math.min(Math.floor(turn / this.#every), n - eighth), to: n };
    const beyond = Math.max(fall.beyond, this.#between(best, since).beyond);
    return { ...fall, beyond: Math.min(beyond, this.#apart(best, since)) };
  }

  /** From the first eighth to the highest level that lasted for an eighth of the run. */
  get rise(): Shift {
    const eighth = this.#eighth;
    const lasting = this.#stretches.filter(({ from, to }) => to - from >= eighth);
    const best = lasting.reduce((a, b) => (b.level > a.level ? b : a), lasting[0]!);
    return best ? this.#between({ from: 0, to: eighth }, best) : this.shift;
  }

  /** Whether two values or more are left from a change on, and all lie nearer to its new level than to the old one. */
  stays({ from, to, step }: Omit<Shift, 'beyond'>): boolean {
    const middle = (this.#toScale(from) + this.#toScale(to)) / 2;
    const since = this.points.filter((point) => point.step >= step);
    return since.length > 1 && since.every(({ value }) => this.#toScale(value) > middle === to > from);
  }

  /** Steps of a stretch in the middle that fulfils the test while start and end do not: it healed. */
  healed(test: (level: number) => boolean): { from: number; to: number; level: number } | undefined {
    if (test(this.start) || test(this.end)) return undefined;
    const found = this.#stretches.filter(({ level }) => test(this.#fromScale(level)));
    const [first] = found;
    if (!first) return undefined;
    const widest = found.reduce((a, b) => (b.to - b.from > a.to - a.from ? b : a));
    return {
      from: this.#stepOf(first.from),
      to: this.#stepOf(found.at(-1)!.to - 1),
      level: this.#fromScale(widest.level),
    };
  }

  get #stretches(): Segment[] {
    this.#segments ??= segmentsOf(this.#scaled, this.noise);
    return this.#segments;
  }

  /** How many points are one that is looked at. */
  get #every(): number {
    return Math.ceil(this.points.length / MOST);
  }

  get #eighth(): number {
    // An entry alone may be all noise.
    const fewest = this.#scaled.length >= 8 ? 2 : 1;
    return Math.max(fewest, this.#scaled.length >> 3);
  }

  #shift(before: Pick<Segment, 'from' | 'to'>): Shift {
    const n = this.#scaled.length;
    return this.#between(before, { from: n - this.#eighth, to: n });
  }

  #between(before: Pick<Segment, 'from' | 'to'>, after: Pick<Segment, 'from' | 'to'>): Shift {
    const levels = [before, after].map(({ from, to }) => mean(this.#scaled.slice(from, to)));
    const [old, fresh] = levels as [number, number];
    const error = this.noise * Math.sqrt(1 / (before.to - before.from) + 1 / (after.to - after.from));
    const [from, to] = [this.#fromScale(old), this.#fromScale(fresh)];
    const isSame = old === fresh || formatValue(from) === formatValue(to);
    const turn = isSame ? after.from : this.#turn(before.from, after.to, old, fresh);
    // The last entry alone dates nothing: the next one may be as those before it.
    const isLast = turn === this.points.length - 1;
    return {
      from,
      to,
      step: this.#stepOf(turn),
      beyond: isSame || isLast ? 0 : Math.abs(fresh - old) / error,
      isDrift: this.isStraight(before.from, after.to),
    };
  }

  /** Whether a stretch is a straight line, on the scale of the metric or as it is. */
  isStraight(from = 0, to = this.#seen.length): boolean {
    const seen = this.#seen.slice(from, to);
    const at = seen.map(({ step }) => step);
    const plain = seen.map(({ value }) => value);
    return isStraight(this.#scaled.slice(from, to), at) || isStraight(plain, at);
  }

  /** How many standard errors two stretches lie apart by the scatter in each, which holds outliers and trends, too. */
  #apart(before: Pick<Segment, 'from' | 'to'>, after: Pick<Segment, 'from' | 'to'>): number {
    const [old, fresh] = [before, after].map(({ from, to }) => moments(this.#scaled.slice(from, to), 0));
    const error = Math.hypot(
      old!.deviation / Math.sqrt(old!.count),
      fresh!.deviation / Math.sqrt(fresh!.count),
    );
    return old!.mean === fresh!.mean ? 0 : Math.abs(fresh!.mean - old!.mean) / error;
  }

  /**
   * Finds the cut between two levels that leaves the most values on the side of their own level. A later dip does not move
   * it.
   */
  #turn(from: number, to: number, old: number, fresh: number): number {
    let [turn, least, sum] = [to - 1, Number.POSITIVE_INFINITY, 0];
    for (let i = from; i < to - 1; i++) {
      const place = (this.#scaled[i]! - old) / (fresh - old);
      sum += Math.min(1, Math.max(0, place)) - 0.5;
      if (sum < least) [turn, least] = [i + 1, sum];
    }
    return turn;
  }

  #levelOf(from: number, to: number): number {
    return this.#fromScale(mean(this.#scaled.slice(from, to)));
  }

  #stepOf(index: number): number {
    return this.points[Math.min(index * this.#every, this.points.length - 1)]!.step;
  }

  #toScale(value: number): number {
    return this.floor === undefined ? value : Math.log(Math.max(value, this.floor));
  }

  #fromScale(value: number): number {
    return this.floor === undefined ? value : Math.exp(value);
  }
}

function thinned(points: readonly Point[]): readonly Point[] {
  const every = Math.ceil(points.length / MOST);
  if (every === 1) return points;
  return Array.from({ length: Math.ceil(points.length / every) }, (_, i) => {
    const some = points.slice(i * every, (i + 1) * every);
    return { step: some[0]!.step, value: mean(some.map(({ value }) => value)) };
  });
}

/**
 * σ from the differences of neighbours, which a slow drift leaves small: their median, or, where most are 0 as in groups
 * that are all right or all wrong, their mean. In a normal distribution the median of |a − b| is 0.954 σ, the mean 1.128 σ.
 */
function noiseOf(values: readonly number[]): number {
  const differences = values.slice(1).map((value, i) => Math.abs(value - values[i]!));
  if (differences.length === 0) return 0;
  const [middle, average] = [median(differences) / 0.954, mean(differences) / 1.128];
  return middle === 0 ? average : Math.max(middle, average / 4);
}
