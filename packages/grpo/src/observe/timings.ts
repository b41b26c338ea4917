/**
 * A row of `timings.jsonl`: how long a step took and what memory the process then had. The rows of the other files
 * follow from settings and seed alone; these are the machine's, and differ from run to run.
 */
export type TimingsRow = {
  step: number;
  /** When the step ended, in Unix seconds. */
  ended_at: number;
  /** Seconds of the whole step, evaluation and saving not included. */
  step_time: number;
  /** Prompt and completion tokens a second. */
  tokens_per_second: number;
  /** Memory of the process in bytes: now, and the most so far. */
  rss_bytes: number;
  peak_rss_bytes: number;
  /** Seconds of a stage. */
  [stage: `seconds/${string}`]: number;
  /** Seconds of a reward function: they run side by side, within the stage `score`. */
  [reward: `reward_seconds/${string}`]: number;
  /** What a judge over HTTP did, by reward: requests, retries, latencies, who judged. */
  [judge: `judge/${string}`]: number;
};

/**
 * The timings of a step that has just ended.
 *
 * @param seconds - of the whole step
 * @param told - seconds of each stage and of each reward function, and what judges over HTTP did
 */
export function timingsOf(
  { step, step_tokens: tokens }: { step: number; step_tokens: number },
  seconds: number,
  {
    stages,
    rewards = {},
    judges = {},
  }: {
    stages: Readonly<Record<string, number>>;
    rewards?: Readonly<Record<string, number>> | undefined;
    judges?: Readonly<Record<`judge/${string}`, number>>;
  },
): TimingsRow {
  const row: TimingsRow = {
    step,
    ended_at: Date.now() / 1000,
    step_time: seconds,
    tokens_per_second: tokens / seconds,
    rss_bytes: process.memoryUsage.rss(),
    peak_rss_bytes: process.resourceUsage().maxRSS * 1024,
    ...judges,
  };
  for (const [stage, time] of Object.entries(stages)) row[`seconds/${stage}`] = time;
  for (const [reward, time] of Object.entries(rewards)) row[`reward_seconds/${reward}`] = time;
  return row;
}
