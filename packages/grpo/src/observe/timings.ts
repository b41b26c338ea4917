/**
 * A row of `timings.jsonl`: how long a step took and what memory the process then had. The rows of the other files
 * follow from settings and seed alone; these are the machine's, and differ from run to run.
 */
export type TimingsRow = {
  step: number;
  /** Seconds of the whole step, evaluation and saving not included. */
  step_time: number;
  /** Prompt and completion tokens a second. */
  tokens_per_second: number;
  /** Memory of the process in bytes: now, and the most so far. */
  rss_bytes: number;
  peak_rss_bytes: number;
  /** Seconds of a stage. */
  [stage: `seconds/${string}`]: number;
  /** What a judge over HTTP did, by reward: requests, retries, latencies, who judged. */
  [judge: `judge/${string}`]: number;
};

/**
 * The timings of a step that has just ended.
 *
 * @param seconds - of the whole step
 * @param stages - seconds of each stage
 * @param judges - what judges over HTTP did
 */
export function timingsOf(
  { step, step_tokens: tokens }: { step: number; step_tokens: number },
  seconds: number,
  stages: Readonly<Record<string, number>>,
  judges: Readonly<Record<`judge/${string}`, number>> = {},
): TimingsRow {
  const row: TimingsRow = {
    step,
    step_time: seconds,
    tokens_per_second: tokens / seconds,
    rss_bytes: process.memoryUsage.rss(),
    peak_rss_bytes: process.resourceUsage().maxRSS * 1024,
    ...judges,
  };
  for (const [stage, time] of Object.entries(stages)) row[`seconds/${stage}`] = time;
  return row;
}
