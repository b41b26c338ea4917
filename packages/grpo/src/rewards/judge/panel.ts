/** Providers in their order, which take over from one another by whole groups. */
import { setMaxListeners } from 'node:events';
import { Reason } from '../describe-error.js';
import type { JudgeStatistics } from './judge-statistics.js';
import type { Provider } from './provider.js';
import { cacheKey, type VerdictCache } from './verdict-cache.js';

/** A question to a judge. */
export interface Question<T> {
  message: string;
  /** Further parts of its key in the cache, beside the message: task, prompt, response. */
  about: readonly string[];
  /** Reads the reply. @throws Reason when it is not in the form that was asked for */
  read(reply: string): T;
}

/** Answer to one question: the reply and its value, or why there is none. */
export type Answer<T> = { failure: string } | { failure: undefined; reply: string; value: T };

/** Answers to all questions about a group. */
export interface Answers<T> {
  /** The provider that was asked all of these questions. */
  provider: string;
  rule: string;
  answers: Answer<T>[];
}

export class Panel {
  readonly #open = new Set<AbortController>();
  #closed = false;

  constructor(
    private readonly providers: readonly Provider[],
    private readonly options: {
      /** The judge's version: model, prompt and all other settings that decide a verdict. */
      version: string;
      seed: number;
      cache: VerdictCache | undefined;
      statistics: JudgeStatistics;
    },
  ) {}

  /**
   * Asks all questions about one group. One provider gives all answers: when it fails on one question, the next provider
   * is asked all of them. Failures of the last provider stay failures.
   *
   * @param completions - number of completions in the group
   * @throws Reason when the judge is closed
   */
  async ask<T>(questions: readonly Question<T>[], completions: number): Promise<Answers<T>> {
    const { statistics } = this.options;
    const before: string[] = [];
    for (const [place, provider] of this.providers.entries()) {
      const isLast = place === this.providers.length - 1;
      const answers = await this.#askOne(provider, questions, { isFirst: place === 0, isLast });
      const failure = answers.find((answer) => answer.failure !== undefined)?.failure;
      if (failure === undefined || isLast) {
        const told = answers.map((answer) =>
          answer.failure === undefined ? answer : { failure: [...before, answer.failure].join('; ') },
        );
        statistics.judgedBy(provider.name, place > 0, completions);
        const rule = place > 0 ? 'judged by a fallback' : 'judged';
        return { provider: provider.name, rule, answers: told };
      }
      statistics.reason ??= failure;
      before.push(failure);
    }
    throw new RangeError('a judge needs a provider');
  }

  /** Takes back all requests; further ones fail. */
  close(): void {
    this.#closed = true;
    for (const controller of this.#open) controller.abort(CLOSED);
  }

  async #askOne<T>(
    provider: Provider,
    questions: readonly Question<T>[],
    { isFirst, isLast }: { isFirst: boolean; isLast: boolean },
  ): Promise<Answer<T>[]> {
    if (this.#closed) throw CLOSED;
    const controller = new AbortController();
    // Each request of the group listens.
    setMaxListeners(0, controller.signal);
    this.#open.add(controller);
    const answers = questions.map(async (question): Promise<Answer<T>> => {
      try {
        return await this.#answer(provider, question, isFirst, controller.signal);
      } catch (error) {
        if (!(error instanceof Reason)) throw error;
        // The next provider is asked for all of them, so nobody waits for the rest.
        if (!isLast) controller.abort(error);
        return { failure: error.message };
      }
    });
    try {
      return await Promise.all(answers);
    } finally {
      controller.abort(CLOSED);
      this.#open.delete(controller);
    }
  }

  async #answer<T>(
    provider: Provider,
    { message, about, read }: Question<T>,
    isFirst: boolean,
    signal: AbortSignal,
  ): Promise<Answer<T>> {
    const { version, seed, statistics } = this.options;
    // A fallback's verdict is not the judge's, and is not cached.
    const cache = isFirst ? this.options.cache : undefined;
    const key = cacheKey([version, ...about, message]);
    const known = cache?.get(key);
    if (known !== undefined) {
      statistics.cacheHits++;
      return { failure: undefined, reply: known, value: read(known) };
    }
    const reply = await provider.ask(message, [seed, Number.parseInt(key.slice(0, 12), 16)], signal);
    // By now the cache may be closed.
    signal.throwIfAborted();
    try {
      const value = read(reply);
      cache?.add(key, reply);
      return { failure: undefined, reply, value };
    } catch (error) {
      throw error instanceof Reason ? new Reason(`${provider.name} ${error.message}`) : error;
    }
  }
}

const CLOSED = new Reason('the judge was closed', false);
