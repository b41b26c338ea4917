import type { JudgeCounts } from './judge-statistics.js';

/** Limits of the share of fallbacks and of the latency; fewer than 8 completions or requests tell nothing. */
const MOST_FALLBACKS = 0.1;
const SLOW_SECONDS = 3;
const ENOUGH = 8;

/** Problems of a judge in words, by kind. */
export type Alarms = Partial<Record<'fallback' | 'slow', string>>;

/**
 * Finds the problems of a judge in its counts.
 *
 * @param reason - why the first provider was given up, where it was
 */
export function alarmsOf(counts: JudgeCounts, reason: string | undefined): Alarms {
  const { completions, fallbacks, requests, latencyP50, latencyP95 } = counts;
  const alarms: Alarms = {};
  if (completions >= ENOUGH && fallbacks > MOST_FALLBACKS * completions) {
    const share = ((100 * fallbacks) / completions).toFixed(0);
    alarms.fallback =
      `${fallbacks} of ${completions} completions (${share} %) were judged by a fallback, since ${reason}. ` +
      'Judges score on different scales: the rewards of these groups are not comparable with those of the others. Fix the first provider, or train with the other one alone.';
  }
  if (requests >= ENOUGH && latencyP95 > SLOW_SECONDS) {
    alarms.slow =
      `of ${requests} requests half took at least ${latencyP50.toFixed(1)} s, and one in twenty at least ${latencyP95.toFixed(1)} s: ` +
      'the steps wait for the judge. Give it more workers, a cache or a faster model.';
  }
  return alarms;
}
