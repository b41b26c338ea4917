/** The course of a run by its metrics: what moved, when, and whether the run learnt. Checks of a log judge it. */
import { isFlat, mean, moments } from '../../maths/moments.js';
import { median } from '../../maths/quantile.js';
import type { MetricSeries } from '../../trace/index.js';
import { MetricCourse, type Point, type Shift } from './metric-course.js';

/** Metrics that tell of a run's course, and how each is judged: by ratio above a floor, or by difference. */
export const METRICS = {
  reward: { name: 'reward' },
  length: { name: 'completions/mean_length', floor: 1 },
  cut: { name: 'completions/clipped_ratio' },
  entropy: { name: 'entropy', floor: 1e-4 },
  kl: { name: 'kl', floor: 1e-4 },
  gradient: { name: 'grad_norm', floor: 1e-8 },
  flat: { name: 'frac_reward_zero_std' },
  gap: { name: 'sampling/sampling_logp_difference/mean', floor: 1e-4 },
  mismatch: { name: 'sampling/kl', floor: 1e-5 },
  evaluation: { name: 'eval_reward' },
} as const satisfies Record<string, { name: string; floor?: number }>;

export type Quantity = keyof typeof METRICS;

/** 1 at an entry whose advantages are all 0, else 0. */
const NO_ADVANTAGE = 'advantages/all_zero';

type Values = MetricSeries['entries'][number]['values'];

/** Levels this many standard errors apart differ: in pure noise one in 15,000 comparisons. */
export const BEYOND_NOISE = 4;

/** A run of fewer steps that shows no movement may be one that has not begun to move. */
export const ENOUGH_STEPS = 100;

/** Share of truncated completions from which few groups have an answer that ends, and fewest entries that show it. */
export const [MOSTLY_CUT, CUT_ENTRIES] = [0.75, 4];

/** Fewest entries that show that no group ever has a signal. */
export const FLAT_ENTRIES = 3;

/** Share of flat groups with which a run has no signal to speak of. */
const DEAD = 0.9;

/** Shares of groups and of rewards that are so near to each other may be the same. */
const NEARLY = 0.02;

/** Fewest entries for a claim about all of them: two means of eight binary rewards are equal with probability 0.2. */
export const MIN_ENTRIES = 8;

/** So many times its later level a KL at the start is not made by updates, which only add to it. */
export const FALLEN = 10;

/** Largest gradient norm or loss that equal rewards can leave: their mean is rounded, then divided by a deviation of 1e-4. */
const ROUNDED = 1e-3;

/** Rewards named for the answer: where there are some, a run that learns raises one of them. */
const ANSWER = /^(?!.*format).*(?:acc|correct|answer|solution|solve|win|success)/i;

export class RunCourse {
  readonly #known = new Map<string, MetricCourse | undefined>();

  constructor(readonly series: MetricSeries) {}

  /** The course of a quantity; undefined where fewer than two entries have it. */
  of(quantity: Quantity): MetricCourse | undefined {
    const { name, floor } = METRICS[quantity] as { name: string; floor?: number };
    return this.metric(name, floor);
  }

  /** Whether what the policy samples changed over the run: then its weights did. */
  get moves(): boolean {
    return (['reward', 'entropy', 'kl'] as const).some(
      (quantity) => (this.of(quantity)?.shift.beyond ?? 0) > BEYOND_NOISE,
    );
  }

  metric(name: string, floor?: number): MetricCourse | undefined {
    if (!this.#known.has(name)) {
      const points = name === METRICS.flat.name ? this.flatShares : this.pointsOf(name);
      // Where no group has a signal the gradient is 0, whatever it is elsewhere.
      const judged = name === METRICS.gradient.name ? points.filter(({ value }) => value > 0) : points;
      this.#known.set(name, judged.length < 2 ? undefined : new MetricCourse(judged, floor));
    }
    return this.#known.get(name);
  }

  /**
   * The share of flat groups at each entry. A log without it shows only entries in which every group is flat: their
   * advantages are all 0, or their rewards have no deviation, or the reward is at its bound, or always the same. They count
   * as 1, all others as 0, so the mean is a lower bound.
   */
  get flatShares(): readonly Point[] {
    if (this.series.hasCritic) return [];
    for (const name of [METRICS.flat.name, NO_ADVANTAGE]) {
      const points = this.pointsOf(name);
      if (points.length > 0) return points;
    }
    const isFlat = this.#flatness();
    return isFlat
      ? this.series.entries.flatMap(({ step, values }) =>
          Number.isFinite(values.reward) ? [{ step, value: Number(isFlat(values)) }] : [],
        )
      : [];
  }

  /** How an entry whose groups were all flat is known by its rewards alone. */
  #flatness(): ((values: Values) => boolean) | undefined {
    const deviation = ['reward_std', 'advantages/std'].find((name) => this.pointsOf(name).length > 0);
    if (deviation !== undefined) return (values) => values[deviation] === 0;
    const bounds = this.#bounds;
    return bounds.length > 0 ? ({ reward }) => bounds.includes(reward!) : undefined;
  }

  /**
   * The least and the most of the reward where it is that again and again, a whole number, and others are not: they are
   * means, and at the bounds all completions earn the same. A mean that never changes is such a bound, too.
   */
  get #bounds(): number[] {
    const values = this.#rewards;
    if (values.length < MIN_ENTRIES) return [];
    if (this.equalRewards) return this.equalRewards === 'signal' ? [] : [values[0]!];
    if (values.every(Number.isInteger)) return [];
    return [Math.min(...values), Math.max(...values)].filter(
      (bound) => Number.isInteger(bound) && values.filter((value) => value === bound).length >= 3,
    );
  }

  /** Reward of each entry. Empty if the log prints so few decimals that different rewards look equal. */
  get #rewards(): number[] {
    if ((this.series.decimals?.reward ?? Number.POSITIVE_INFINITY) < 2) return [];
    return this.of('reward')?.points.map(({ value }) => value) ?? [];
  }

  /**
   * Whether a log whose reward never changes still shows a learning signal; undefined if the reward changes. A negative
   * loss shows a signal, and so does a gradient without a KL: the rewards then differ, and the log prints another number.
   */
  get equalRewards(): 'signal' | 'no signal' | undefined {
    const values = this.#rewards;
    if (values.length < MIN_ENTRIES || !isFlat(values)) return undefined;
    const has = (name: string, test: (value: number) => boolean) =>
      this.pointsOf(name).some(({ value }) => test(value));
    const isMoved = has('grad_norm', (norm) => norm > ROUNDED) && !has('kl', (kl) => kl !== 0);
    return isMoved || has('loss', (loss) => loss < -ROUNDED) ? 'signal' : 'no signal';
  }

  /** Entries at which a metric is finite. A KL that is logged with the wrong sign gets the right one. */
  pointsOf(name: string): Point[] {
    const sign = name === METRICS.kl.name && this.negativeKl ? -1 : 1;
    return this.series.entries.flatMap(({ step, values: { [name]: value } }) =>
      value !== undefined && Number.isFinite(value) ? [{ step, value: sign * value }] : [],
    );
  }

  /** Mean of the KL if it is negative beyond its noise, which the mean of log π − log π_ref over samples of π cannot be. */
  get negativeKl(): number | undefined {
    const values = this.series.entries.flatMap(({ values: { kl } }) =>
      kl !== undefined && Number.isFinite(kl) ? [kl] : [],
    );
    if (values.length < MIN_ENTRIES) return undefined;
    const { mean, deviation } = moments(values, 1);
    const error = deviation / Math.sqrt(values.length);
    return mean < -METRICS.kl.floor && mean < -BEYOND_NOISE * error ? mean : undefined;
  }

  /** The first KL and the median of the second half, where that was never above the first and is far below: no update made it. */
  get fallingKl(): { first: number; later: number } | undefined {
    const values = this.pointsOf(METRICS.kl.name).map(({ value }) => value);
    if (values.length < 4) return undefined;
    const [first, later] = [values[0]!, median(values.slice(values.length >> 1))];
    return first > 1 && first === Math.max(...values) && first >= FALLEN * later
      ? { first, later }
      : undefined;
  }

  /** Whether the KL stays where it is: its first and last eighth lie within a tenth, and nine tenths of its entries within a fifth of the median. */
  get standsStill(): boolean {
    const kl = this.of('kl');
    if (!kl) return false;
    const values = kl.points.map(({ value }) => value);
    const middle = median(values);
    const near = values.filter((value) => Math.abs(value - middle) < middle / 5);
    return Math.abs(kl.end - kl.start) < kl.start / 10 && near.length >= 0.9 * values.length;
  }

  /** How many steps the entries with a reward tell of; where the log does not say, as many as there are entries. */
  get steps(): number {
    const { entries, stepsPerEntry } = this.series;
    const rewarded = entries.filter(({ values }) => Number.isFinite(values.reward));
    const first = rewarded[0]?.step ?? 0;
    const last = rewarded.at(-1)?.step ?? 0;
    return Math.max(
      rewarded.length,
      Math.min(rewarded.length * (stepsPerEntry ?? 1), last - first + (stepsPerEntry ?? 1)),
    );
  }

  get isLong(): boolean {
    return this.steps >= ENOUGH_STEPS;
  }

  /**
   * A difference of the reward that matters: its deviation among completions of a prompt, which is what training acts on.
   * Without it three times the noise of an entry, or a third of all that the reward was: single groups are noisy.
   */
  get rewardUnit(): number {
    const deviations = this.metric('reward_std')?.points.map(({ value }) => value) ?? [];
    const known = deviations.filter((deviation) => deviation > 0);
    if (known.length > 0) return median(known);
    const reward = this.of('reward');
    if (!reward) return 0;
    const values = reward.points.map(({ value }) => value);
    return Math.min(3 * reward.noise, (Math.max(...values) - Math.min(...values)) / 3);
  }

  /**
   * The fall of the reward from its best level, where it lost more than half of what it had, and a unit or more. Where hardly
   * a group had a signal before it, there was nothing to lose.
   */
  get collapse(): Shift | undefined {
    const reward = this.of('reward');
    if (!reward || reward.points.length < 8) return undefined;
    const { fall } = reward;
    const before = this.flatShares.flatMap(({ step, value }) => (step < fall.step ? [value] : []));
    const flat = before.length > 0 ? mean(before) : 0;
    // What was earned came from the groups that were mixed: the flat ones were all wrong.
    if (flat >= DEAD && this.#heightOf(fall.from) <= 1 - flat + NEARLY) return undefined;
    const floor = Math.min(0, ...reward.points.map(({ value }) => value));
    const lost = fall.from - fall.to;
    const isDeep = lost > (fall.from - floor) / 2 && lost >= this.rewardUnit;
    return isDeep && fall.beyond >= BEYOND_NOISE ? fall : undefined;
  }

  /** How much the reward gained from its start to its best, where that is beyond its noise. */
  get gain(): Shift | undefined {
    return gainOf(this.of('reward'));
  }

  /** The gain, where the reward ends nearer to its best than to its start. */
  get lastingGain(): Shift | undefined {
    const { gain } = this;
    return gain && this.of('reward')!.end >= (gain.from + gain.to) / 2 ? gain : undefined;
  }

  /** How much a metric gained from its start to its best, where that is beyond its noise. */
  gainOf(name: string): Shift | undefined {
    return gainOf(this.metric(name));
  }

  /** Metrics of the single reward functions: those named for the answer, and the others. */
  get functions(): { answers: readonly string[]; others: readonly string[] } {
    const names = new Set(this.series.entries.flatMap(({ values }) => Object.keys(values)));
    const rewards = [...names].filter((name) => /^rewards\/.+\/mean$/.test(name));
    const isAnswer = (name: string) => ANSWER.test(name);
    return { answers: rewards.filter(isAnswer), others: rewards.filter((name) => !isAnswer(name)) };
  }

  /** Whether it learnt: a reward for the answer rose beyond its noise; where none is named so, the total. */
  get learnt(): boolean {
    const { answers } = this.functions;
    return (answers.length > 0 ? answers : [METRICS.reward.name]).some((name) => this.gainOf(name));
  }

  /**
   * Where the reward lies at its end in the range of all that it was, from 0 to 1: of rewards from 0 to 1, itself. The top
   * of penalties is not known.
   */
  get height(): number {
    const reward = this.of('reward');
    return reward ? this.#heightOf(reward.end) : 0;
  }

  #heightOf(level: number): number {
    const values = this.of('reward')?.points.map(({ value }) => value) ?? [];
    const [least, most] = [Math.min(0, ...values), Math.max(...values)];
    if (most <= 0) return 0;
    const top = least >= 0 && most <= 1 ? 1 : most;
    return top > least ? (level - least) / (top - least) : 0;
  }

  /** Whether flat groups of this share can all be right: such groups earn the top, so the reward is at least as high. */
  areRight(flatShare: number): boolean {
    return this.height >= flatShare - NEARLY;
  }

  /** Whether the reward gained as much as completions of a prompt differ by. */
  get isPaid(): boolean {
    const { gain } = this;
    return gain !== undefined && gain.to - gain.from >= this.rewardUnit;
  }

  /** Whether the reward ends in the upper third: most is earned already. */
  get isHigh(): boolean {
    return this.height >= 2 / 3;
  }
}

function gainOf(course: MetricCourse | undefined): Shift | undefined {
  if (!course || course.points.length < 8) return undefined;
  const { rise } = course;
  return rise.to > rise.from && rise.beyond >= BEYOND_NOISE ? rise : undefined;
}
