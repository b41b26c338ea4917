import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/schema.js';
import { UserError } from '../errors/user-error.js';
import type { Model } from '../models/index.js';
import type { Watch } from '../progress/watch.js';
import type { ServerFacts } from './dialect.js';
import { JsonServer, keyIn } from './json-server.js';
import { compareTokenizers } from './preflight.js';
import { NoAnswer, Refusal, WrongAnswer } from './server-error.js';
import { dialects } from './server-pool.js';
import { whileWatched } from './while-watched.js';

/** Sequences that are asked for at a time: the server puts them into batches of its own. */
const LANES = 16;

/** Attempts, at first and once it has answered, and the seconds before the second; each pause is twice the one before. */
const [FIRST_ATTEMPTS, ATTEMPTS, PAUSE] = [3, 9, 0.5];
/** Seconds that a server may ask to wait before the next attempt. */
const MOST_PAUSE = 300;

/** A prompt and one completion of it. */
export interface ScoredSequence {
  prompt: readonly number[];
  completion: readonly number[];
}

/** A teacher on a server, which scores what the policy has sampled. */
export class TeacherServer {
  readonly #server: JsonServer;
  #facts: ServerFacts | undefined;

  /** @throws UserError: the environment has no key */
  constructor(
    private readonly config: Pick<Config, 'teacher' | 'rollout'>,
    private readonly model: Model,
    private readonly note: (text: string) => void,
  ) {
    const { url, apiKeyEnv } = config.teacher;
    this.#server = new JsonServer(url!, config.rollout.timeoutSeconds, keyIn('teacher.apiKeyEnv', apiKeyEnv));
  }

  /**
   * Log-probs of each sequence's completion at temperature 1.
   *
   * @throws UserError: the server has another tokenizer, or does not answer; Abandoned
   */
  async score(sequences: readonly ScoredSequence[], watch: Watch): Promise<Float32Array[]> {
    const scores: Float32Array[] = [];
    const report = () =>
      watch.report({
        stage: 'teacher',
        done: scores.filter(Boolean).length,
        total: sequences.length,
        unit: 'completions',
      });
    await whileWatched(report, async (signal) => {
      this.#facts ??= await this.#look(sequences, signal);
      const facts = this.#facts;
      const places = sequences.keys();
      const lane = async () => {
        for (const place of places) {
          scores[place] = await this.#patiently(signal, () =>
            this.#scoreOne(facts, sequences[place]!, signal),
          );
          report();
        }
      };
      await Promise.all(Array.from({ length: LANES }, lane));
    });
    return scores;
  }

  async #scoreOne(facts: ServerFacts, { prompt, completion }: ScoredSequence, signal: AbortSignal) {
    const ids = [...prompt, ...completion];
    const scores = await this.#dialect.score(this.#server, facts, { ids, signal });
    const own = scores.slice(prompt.length);
    const wrong = own.findIndex((value) => value === null || !Number.isFinite(value) || value > 0);
    if (wrong >= 0)
      throw new WrongAnswer(`the log-prob of token ${wrong + 1} of a completion is ${own[wrong]}`);
    return Float32Array.from(own as number[]);
  }

  /** Facts of the server, once it is found fit. */
  async #look(sequences: readonly ScoredSequence[], signal: AbortSignal): Promise<ServerFacts> {
    const server = this.#server;
    const facts = await this.#patiently(signal, () => this.#dialect.facts(server, signal));
    const [longest] = sequences.map(({ prompt }) => prompt).sort((a, b) => b.length - a.length);
    const warning = await compareTokenizers(
      { server, facts, signal },
      { model: this.model, prompt: longest ?? [] },
    );
    if (warning !== undefined) this.note(warning);
    const most = (longest?.length ?? 0) + this.config.rollout.maxNewTokens + 1;
    if (facts.maxModelLen !== undefined && facts.maxModelLen < most)
      throw new UserError(
        `the teacher on ${server.name} takes ${facts.maxModelLen} tokens; a prompt of ${longest!.length} with rollout.maxNewTokens has ${most}`,
        {
          hint: `Start it with --max-model-len ${most} or more, or set a smaller rollout.maxNewTokens.`,
        },
      );
    this.note(`Completions are scored by the teacher ${facts.model} on ${server.name} (${facts.software}).`);
    return facts;
  }

  get #dialect() {
    const { engine } = this.config.teacher;
    if (engine === 'own') throw new Error('teacher.engine=own has no server');
    return dialects[engine];
  }

  /** Asks again where no answer came. */
  async #patiently<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await ask();
      } catch (error) {
        const most = this.#facts ? ATTEMPTS : FIRST_ATTEMPTS;
        const isLast = error instanceof NoAnswer && attempt === most;
        if (error instanceof Refusal || error instanceof WrongAnswer || isLast)
          throw new UserError(`the teacher on ${this.#server.name}: ${(error as Error).message}`, {
            hint: 'No weight was changed in this step: the run goes on from its last checkpoint with --resume.',
            cause: error,
          });
        if (!(error instanceof NoAnswer)) throw error;
        const asked = Math.min(error.retryAfterSeconds, MOST_PAUSE);
        const seconds = Math.max(asked, PAUSE * 2 ** (attempt - 1));
        await sleep(1000 * seconds, undefined, { signal });
      }
    }
  }
}
