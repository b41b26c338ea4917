import { sum } from '../../maths/moments.js';
import { percentile } from '../../maths/quantile.js';

/** Latencies that are kept: enough for any step; the oldest are dropped. */
const KEPT = 10_000;

/** Counts and latencies of a judge since its last report. */
export interface JudgeCounts {
  /** Completions that were judged, or failed to be; of these by a fallback; and those that failed. */
  completions: number;
  fallbacks: number;
  failed: number;
  /** Replies that the cache had. */
  cacheHits: number;
  /** HTTP requests, those sent again, and those answered with 429. */
  requests: number;
  retries: number;
  rateLimited: number;
  /** Seconds that half of the requests took at most, and 95 of 100; those that failed too. 0 without requests. */
  latencyP50: number;
  latencyP95: number;
  /** Completions by who judged them, or failed to. */
  providers: Record<string, number>;
}

/** Counts completions and requests of a judge. */
export class JudgeStatistics {
  failed = 0;
  cacheHits = 0;
  retries = 0;
  rateLimited = 0;
  /** Why a group went to a fallback, the first time. */
  reason: string | undefined;
  #fallbacks = 0;
  #requests = 0;
  #latencies: number[] = [];
  #providers = new Map<string, number>();

  judgedBy(provider: string, isFallback: boolean, completions: number): void {
    this.#providers.set(provider, (this.#providers.get(provider) ?? 0) + completions);
    if (isFallback) this.#fallbacks += completions;
  }

  /** A request took so many seconds. */
  took(seconds: number): void {
    this.#latencies[this.#requests++ % KEPT] = seconds;
  }

  get counts(): JudgeCounts {
    const { failed, cacheHits, retries, rateLimited } = this;
    const sorted = Float64Array.from(this.#latencies).sort();
    return {
      completions: sum([...this.#providers.values()]),
      fallbacks: this.#fallbacks,
      failed,
      cacheHits,
      requests: this.#requests,
      retries,
      rateLimited,
      latencyP50: percentile(sorted, 50),
      latencyP95: percentile(sorted, 95),
      providers: Object.fromEntries(this.#providers),
    };
  }

  reset(): void {
    this.failed = this.cacheHits = this.retries = this.rateLimited = this.#fallbacks = this.#requests = 0;
    this.reason = undefined;
    this.#latencies = [];
    this.#providers.clear();
  }
}
