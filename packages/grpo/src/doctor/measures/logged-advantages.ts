/** The spread of the advantages in a log, beside the share of groups that have none. */
import { isFlat, mean } from '../../maths/moments.js';
import type { LogView } from '../log-view.js';

/** Fewest entries that show how the spread goes with the flat groups. */
const SOME_ENTRIES = 8;

/** Mean share of flat groups from which they show in the spread. */
const SOME_FLAT = 0.1;

/** Mean squares by which the advantages may exceed their bound: a mean over tokens weighs long completions more. */
const EXCESS = 1.1;

export interface LoggedSpread {
  entries: number;
  /** Mean share of groups with equal rewards. */
  flat: number;
  /** Root mean square of the standard deviations. */
  deviation: number;
  /** The most that it can be of groups normalised one by one: √(1 − flat). */
  most: number;
  /** Whether the advantages spread further, and no less where more groups are flat. */
  exceeds: boolean;
  /** Whether they have the deviation 1 in every entry, as those that are whitened over the batch. */
  isWhite: boolean;
}

/**
 * Compares the deviation of the advantages with its bound: a group of equal rewards has advantages of 0, the others have at
 * most the variance 1. A text says what is missing.
 */
export function loggedSpread(log: LogView): LoggedSpread | string {
  const [deviations, flats, rewards] = ['advantages/std', 'frac_reward_zero_std', 'reward_std'].map((name) =>
    log.column(name),
  ) as [Float64Array, Float64Array, Float64Array];
  const judged = [...deviations.keys()].filter((i) => flats[i]! < 1 && deviations[i]! > 0);
  const shares = judged.map((i) => 1 - flats[i]!);
  const variances = judged.map((i) => deviations[i]! ** 2);
  if (judged.length < SOME_ENTRIES || mean(shares) > 1 - SOME_FLAT || isFlat(shares))
    return `${SOME_ENTRIES} entries with the deviation of the advantages and a changing share of flat groups`;
  // Without division by the deviation of the rewards the bound is another.
  if (judged.some((i) => deviations[i]! <= 1.1 * rewards[i]!))
    return 'advantages that are divided by the deviation of their rewards';
  const [share, variance] = [mean(shares), mean(variances)];
  const squares = mean(shares.map((value) => (value - share) ** 2));
  const slope = mean(shares.map((value, i) => (value - share) * (variances[i]! - variance))) / squares;
  return {
    entries: judged.length,
    flat: 1 - share,
    deviation: Math.sqrt(variance),
    most: Math.sqrt(share),
    exceeds: variance > EXCESS * share && slope < 0.3,
    isWhite: judged.every((i) => Math.abs(deviations[i]! - 1) < 0.005),
  };
}
