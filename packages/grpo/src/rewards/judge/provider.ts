import type { JudgeSettings } from '../../config/sections/judge.js';
import { uniform } from '../../maths/random.js';
import { Reason } from '../describe-error.js';
import { complete, type Endpoint, RequestError } from './chat.js';
import type { JudgeStatistics } from './judge-statistics.js';
import { Limiter } from './limiter.js';
import { wait } from './wait.js';

/** No repetition waits longer; a server that asks for more counts as one that fails. */
const MAX_WAIT_SECONDS = 60;

/** One server with one model: asked again where that may help, and never above its limits. */
export class Provider {
  /** `model@host`, as the record has it. */
  readonly name: string;
  readonly #limiter: Limiter;

  constructor(
    private readonly endpoint: Endpoint,
    private readonly settings: JudgeSettings,
    private readonly statistics: JudgeStatistics,
  ) {
    this.name = `${endpoint.model}@${endpoint.url.host}`;
    this.#limiter = new Limiter(settings.workers, settings.requestsPerSecond);
  }

  /**
   * The text of the reply.
   *
   * @param draw - whole numbers that the length of the waits is drawn by
   * @throws Reason when there is none, after all repetitions; the reason of the signal
   */
  async ask(
    message: string,
    draw: readonly [seed: number, key: number],
    signal: AbortSignal,
  ): Promise<string> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#limiter.run(() => this.#request(message, signal), signal);
      } catch (error) {
        if (!(error instanceof RequestError)) throw error;
        const seconds = this.#waitAfter(error, attempt, uniform(...draw, attempt));
        if (seconds === undefined) throw this.#givenUp(error, attempt + 1);
        this.statistics.retries++;
        await wait(seconds, signal);
      }
    }
  }

  async #request(message: string, signal: AbortSignal): Promise<string> {
    const started = performance.now();
    try {
      return await complete(this.endpoint, message, this.settings, signal);
    } catch (error) {
      if (error instanceof RequestError) this.#refused(error);
      throw error;
    } finally {
      // Failed requests count too, or a judge that never answers would look quick. Cancelled ones do not.
      if (!signal.aborted) this.statistics.took((performance.now() - started) / 1000);
    }
  }

  #refused({ status, retryAfterSeconds = 0 }: RequestError): void {
    if (status === 429) this.statistics.rateLimited++;
    // Before the next one gets its turn: it would be refused as well.
    if (retryAfterSeconds <= MAX_WAIT_SECONDS) this.#limiter.pause(retryAfterSeconds);
  }

  /** Seconds until the next attempt; undefined when there is to be none. */
  #waitAfter(
    { mayRepeat, retryAfterSeconds = 0 }: RequestError,
    attempt: number,
    share: number,
  ): number | undefined {
    const { retries, retryWaitSeconds } = this.settings;
    if (!mayRepeat || attempt === retries || retryAfterSeconds > MAX_WAIT_SECONDS) return undefined;
    const full = Math.min(MAX_WAIT_SECONDS, retryWaitSeconds * 2 ** attempt);
    // Half of it is random, so that requests that failed together do not come back together.
    return Math.max(retryAfterSeconds, full * (0.5 + 0.5 * share));
  }

  #givenUp({ message, retryAfterSeconds = 0 }: RequestError, attempts: number): Reason {
    const tried = attempts === 1 ? '' : `, ${attempts} times`;
    const busy = retryAfterSeconds > MAX_WAIT_SECONDS ? `, and asks to wait ${retryAfterSeconds} s` : '';
    return new Reason(`${this.name}: ${message}${busy}${tried}`);
  }
}
