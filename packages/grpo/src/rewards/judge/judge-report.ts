/** Carries a judge's report from the reward to the run's files: a reward function returns values only. */
import type { Reward, RewardFunction } from '../reward.js';
import type { JudgeCounts } from './judge-statistics.js';

// A registered symbol, so that a program which brings its own copy of this package still counts.
const REPORT = Symbol.for('grpo.reward.judgeReport');

/** Numbers and alarms of a judge since its last report. */
export interface JudgeReport {
  /** By name: `latency_p95`. */
  numbers: Record<string, number>;
  /** Problems that a person should know. */
  alarms: string[];
}

/** Attaches a report to a reward function; each `take` begins a new one. */
export function withReport<F extends RewardFunction<never>>(score: F, take: () => JudgeReport): F {
  return Object.assign(score, { [REPORT]: take });
}

/** Passes the report of a function on to the one that wraps it. */
export function carryReport<F extends RewardFunction<never>>(from: RewardFunction<never>, to: F): F {
  const take = reportOf(from);
  return take ? withReport(to, take) : to;
}

/** Whether a reward asks a server. */
export const isJudge = ({ score }: Pick<Reward, 'score'>): boolean => reportOf(score) !== undefined;

const reportOf = (score: object) => (score as { [REPORT]?: () => JudgeReport })[REPORT];

/** The reports of the judges among the rewards: `judge/<reward>/latency_p95`. */
export function takeJudgeReports(rewards: readonly Reward[]): {
  numbers: Record<`judge/${string}`, number>;
  alarms: string[];
} {
  const all: ReturnType<typeof takeJudgeReports> = { numbers: {}, alarms: [] };
  for (const { name, score } of rewards) {
    const take = reportOf(score);
    if (!take) continue;
    const { numbers, alarms } = take();
    for (const [key, value] of Object.entries(numbers)) all.numbers[`judge/${name}/${key}`] = value;
    all.alarms.push(...alarms.map((text) => `judge ${name}: ${text}`));
  }
  return all;
}

/** Counts of a judge under their names in the files. */
export function numbersOf(counts: JudgeCounts): Record<string, number> {
  const { completions, fallbacks, failed, requests, retries, providers } = counts;
  return {
    completions,
    failed,
    fallback_share: completions === 0 ? 0 : fallbacks / completions,
    cache_hits: counts.cacheHits,
    requests,
    retries,
    rate_limited: counts.rateLimited,
    latency_p50: counts.latencyP50,
    latency_p95: counts.latencyP95,
    ...Object.fromEntries(Object.entries(providers).map(([name, count]) => [`provider/${name}`, count])),
  };
}
