/** What moved over a run, in the order in which it moved, and in words. */
import { percent, say } from '../sentence.js';
import { type Break, breakOf, isBy, isTimes } from './break.js';
import type { MetricCourse, Shift } from './metric-course.js';
import { BEYOND_NOISE, METRICS, type Quantity, type RunCourse } from './run-course.js';

/** A lasting change of a quantity that is large enough to matter; of a short log, whose noise is not known, without `beyond`. */
export interface Movement extends Omit<Shift, 'beyond'> {
  quantity: Quantity;
  beyond?: number;
  /** Whether the last entry alone shows it. */
  isLast?: boolean;
}

/** Changes that no noise of an entry makes: so many times, of shares a difference. Rewards and evaluations are noisy. */
const LARGE: Readonly<Partial<Record<Quantity, number>>> = {
  length: 3,
  entropy: 4,
  kl: 10,
  gradient: 20,
  gap: 10,
  mismatch: 10,
  cut: 0.3,
  flat: 0.5,
};

/** Fewer points have no noise that is known. */
export const FEWEST = 8;

const WORDS: Readonly<Record<Quantity, string>> = {
  reward: 'reward',
  length: 'mean length',
  cut: 'truncated completions',
  entropy: 'entropy',
  kl: 'KL',
  gradient: 'gradient norm',
  flat: 'groups of equal rewards',
  gap: 'gap between sampler and trainer',
  mismatch: 'KL of sampler and trainer',
  evaluation: 'evaluation',
};

export const wordsOf = (quantity: Quantity): string => WORDS[quantity];

/** Whether levels of a quantity are geometric means, which ratios are judged by. */
export const isGeometric = (quantity: Quantity): boolean => 'floor' in METRICS[quantity];

/** A level of a quantity: shares as percentages. */
export function levelText(quantity: Quantity, level: number): string {
  if (quantity === 'cut' || quantity === 'flat') return percent(level);
  const { floor = 0 } = METRICS[quantity] as { floor?: number };
  // Whatever is smaller counts as the floor.
  return level > 0 && level < floor * 1.001 ? `below ${say`${floor}`}` : say`${level}`;
}

/** Least change that matters: of a share a fifth of all; of the rest a doubling or a half. */
function matters(course: RunCourse, quantity: Quantity, { from, to }: Shift): boolean {
  if (quantity === 'reward' || quantity === 'evaluation') return Math.abs(to - from) >= course.rewardUnit / 2;
  if (quantity === 'cut' || quantity === 'flat') return Math.abs(to - from) >= 0.2;
  return to >= 2 * from || from >= 2 * to;
}

/** The change of a quantity over the run, where it lasts, matters, and is beyond its noise. */
export function movementOf(course: RunCourse, quantity: Quantity): Movement | undefined {
  const metric = course.of(quantity);
  if (!metric) return undefined;
  const shift = quantity === 'reward' ? rewardShift(course, metric) : metric.shift;
  if (metric.points.length >= FEWEST && shift.beyond >= BEYOND_NOISE && matters(course, quantity, shift))
    return { quantity, ...shift };
  // The last entry alone dates nothing.
  const found = largeBreak(course, quantity);
  return found?.isLast ? undefined : found;
}

/** The reward's fall from its best; else what it gained for good, where first and last eighth alone do not show it. */
function rewardShift(course: RunCourse, { shift }: MetricCourse): Shift {
  const { collapse, lastingGain } = course;
  return collapse ?? (shift.beyond < BEYOND_NOISE && lastingGain ? lastingGain : shift);
}

/** The change of a quantity in a short log, where it is larger than any noise. */
export function largeBreak(course: RunCourse, quantity: Quantity): (Movement & Break) | undefined {
  const metric = course.of(quantity);
  const found = metric && breakOf(metric);
  const large = LARGE[quantity];
  if (!found || large === undefined) return undefined;
  const isLarge = large < 1 ? isBy(found, large) : isTimes(found, large);
  return isLarge ? { quantity, ...found } : undefined;
}

/** How a change is dated. */
export type Dated = {
  step: number;
  isDrift?: boolean;
  /** Whether the last entry alone shows it. */
  isLast?: boolean;
};

/** How a change is dated, for the measurements of a finding. */
export const datedOf = ({ step, isDrift = false, isLast = false }: Dated): Required<Dated> => ({
  step,
  isDrift,
  isLast,
});

/** Says when a change came. */
export function whenText({ step, isDrift, isLast }: Dated): string {
  if (isLast) return 'in the last entry alone';
  return isDrift ? `little by little, half of it by step ${step}` : `at step ${step}`;
}

/** What moved beside a change, the first first: `Before it: the entropy (step 14). Then: the gap (step 27).` */
export function companionsOf(course: RunCourse, main: Movement): string {
  const others: readonly Quantity[] = ['length', 'cut', 'entropy', 'kl', 'gradient', 'gap', 'flat'];
  const moved = others
    .filter((quantity) => quantity !== main.quantity)
    .flatMap((quantity) => movementOf(course, quantity) ?? [])
    .sort((a, b) => a.step - b.step);
  const list = (some: readonly Movement[]) =>
    some
      .map(
        ({ quantity, step, isDrift }) =>
          `${WORDS[quantity]} (${isDrift ? 'little by little, half by ' : ''}step ${step})`,
      )
      .join(', ');
  const before = moved.filter(({ step }) => step < main.step);
  const after = moved.slice(before.length);
  const parts = [
    ...(before.length > 0 ? [`Moved before it: ${list(before)}.`] : []),
    ...(after.length > 0 ? [`Moved with or after it: ${list(after)}.`] : []),
  ];
  return parts.length > 0 ? parts.join(' ') : 'No other metric of the log moved with it.';
}
