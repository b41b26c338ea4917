/** A judge over HTTP as a reward: groups become questions, and replies become verdicts. */
import type { z } from 'zod';
import { type JudgeSettings, judgeSection } from '../../config/sections/judge.js';
import { refuseUnknown } from '../../config/unknown-option.js';
import { UsageError } from '../../errors/user-error.js';
import { Reason } from '../describe-error.js';
import { type CompletionFailure, PartialFailure } from '../each.js';
import type { JudgeVerdict, RewardBatch, RewardFunction } from '../reward.js';
import { endpointOf } from './chat.js';
import { groupsIn } from './groups.js';
import { type Alarms, alarmsOf } from './health.js';
import { type JudgeReport, numbersOf, withReport } from './judge-report.js';
import { type JudgeCounts, JudgeStatistics } from './judge-statistics.js';
import { judgeTemplate } from './judge-template.js';
import { Panel } from './panel.js';
import { Provider } from './provider.js';
import { type AskOptions, type JudgedCompletion, rankGroup, scoreGroup } from './questions.js';
import { cacheKey, VerdictCache } from './verdict-cache.js';

/** Options of {@link judge}: the settings of `rewards: [{judge: {…}}]`, but `prompt` is the text itself. */
export type JudgeOptions = z.input<typeof judgeSection> & {
  /** Factor in the weighted sum: 1 when left out. */
  weight?: number;
  /** Draws the order of a ranking and the lengths of waits: 0 when left out. */
  seed?: number;
  /** Name of the task, which keeps its verdicts apart from others in the same cache. */
  task?: string;
};

/** A {@link judge}, to be one of the rewards of `defineTask`. */
export class Judge implements Disposable {
  /** Scores a batch. */
  readonly batch: RewardFunction<unknown>;
  /** Factor in the weighted sum. */
  readonly weight: number;
  readonly #judgeGroup: typeof scoreGroup;
  readonly #asking: AskOptions;
  readonly #statistics = new JudgeStatistics();
  readonly #cache: VerdictCache | undefined;
  readonly #panel: Panel;
  #alarms: Alarms = {};

  /** @param where - name of the prompt, for messages */
  private constructor(
    options: JudgeOptions,
    settings: JudgeSettings,
    where: string,
    cache: VerdictCache | undefined,
  ) {
    const { weight = 1, seed = 0, task = '' } = options;
    const { prompt, ask, model, baseURL, jsonMode, components, fallbacks } = settings;
    this.weight = weight;
    this.#cache = cache;
    this.#judgeGroup = ask === 'ranking' ? rankGroup : scoreGroup;
    this.#asking = { template: judgeTemplate(where, prompt, ask), task, seed, components };
    const statistics = this.#statistics;
    const providers = [settings, ...fallbacks].map(
      (own) => new Provider(endpointOf(own), settings, statistics),
    );
    const names = Object.keys(components ?? {}).sort();
    const version = cacheKey([baseURL, model, prompt, ask, String(jsonMode), ...names]);
    this.#panel = new Panel(providers, { version, seed, cache, statistics });
    this.batch = withReport(
      (batch) => this.#score(batch),
      () => this.#report(),
    );
  }

  /** See {@link judge}. @param where - name of the prompt, for messages */
  static async open(options: JudgeOptions, where: string): Promise<Judge> {
    const { weight: _, seed: __, task: ___, ...given } = options;
    refuseUnknown('judge()', given, Object.keys(judgeSection.shape));
    const parsed = judgeSection.safeParse(given);
    if (!parsed.success) {
      const [{ path, message } = { path: [], message: '' }] = parsed.error.issues;
      throw new UsageError(`judge(): ${path.join('.')}: ${message}`);
    }
    const { cache, ask, components } = parsed.data;
    if (ask === 'ranking' && components)
      throw new UsageError('judge(): components have no effect on a ranking');
    const opened = cache === undefined ? undefined : await VerdictCache.open(cache);
    return new Judge(options, parsed.data, where, opened);
  }

  /** Counts since the last report to a run's `timings.jsonl`. */
  get counts(): JudgeCounts {
    return this.#statistics.counts;
  }

  /** Takes back the requests under way and closes the cache. */
  [Symbol.dispose](): void {
    this.#panel.close();
    this.#cache?.[Symbol.dispose]();
  }

  async #score({ prompts, rows, completions }: RewardBatch<unknown>): Promise<JudgeVerdict[]> {
    const verdicts = new Array<JudgeVerdict>(completions.length);
    const failures: CompletionFailure[] = [];
    const judgeOne = async (places: readonly number[]) => {
      const [first] = places as [number];
      const group = {
        prompt: prompts[first]!,
        row: rows[first],
        completions: places.map((i) => completions[i]!),
      };
      const judged = await this.#judgeGroup(this.#panel, group, this.#asking).catch(
        failedAll(group.completions),
      );
      for (const [g, { failure, ...verdict }] of judged.entries()) {
        const index = places[g]!;
        verdicts[index] = verdict;
        if (failure !== undefined) failures.push({ index, reason: failure });
      }
    };
    try {
      await Promise.all(groupsIn({ prompts, rows }).map(judgeOne));
    } finally {
      this.#cache?.flush();
    }
    this.#statistics.failed += failures.length;
    if (failures.length > 0) throw new PartialFailure(verdicts, failures);
    return verdicts;
  }

  #report(): JudgeReport {
    const { counts } = this;
    const alarms = alarmsOf(counts, this.#statistics.reason);
    this.#statistics.reset();
    const news = Object.entries(alarms).filter(([kind]) => !(kind in this.#alarms));
    this.#alarms = alarms;
    return { numbers: numbersOf(counts), alarms: news.map(([, text]) => text) };
  }
}

/** A reason that concerns the whole group, as failures of each. */
const failedAll =
  (completions: readonly string[]) =>
  (error: unknown): JudgedCompletion[] => {
    if (!(error instanceof Reason)) throw error;
    return completions.map(() => ({ value: null, failure: error.message }));
  };

/**
 * A judge over HTTP, by any server that speaks the chat completions of OpenAI, as a reward.
 *
 * All completions of a group are judged by one provider: where the first fails on one of them, the next judges them all.
 * A verdict that is still missing then is a failure of its completion, never a number.
 *
 * @example
 * import { judge } from 'grpo/rewards';
 *
 * using kind = await judge({
 *   baseURL: 'http://localhost:8000/v1',
 *   model: 'my-judge',
 *   prompt: 'Is this answer to {prompt} kind? {completion} Reply as JSON: {"score": 0 to 1, "reason": "…"}',
 * });
 * // defineTask({ …, rewards: { kind } })
 *
 * @throws UsageError for options that are wrong; UserError, FileError or FormatError for a key or cache that is not there
 */
export const judge = (options: JudgeOptions): Promise<Judge> => Judge.open(options, 'prompt');
