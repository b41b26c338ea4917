import { UserError } from '../errors/user-error.js';
import type { Model } from '../models/index.js';
import { splitRequests } from '../rollout/completion-requests.js';
import type { Completion, GroupRequest, SamplingOptions } from '../rollout/index.js';
import { checkCompletion } from './check-completion.js';
import type { RemoteCompletion } from './dialect.js';
import type { PooledServer } from './pooled-server.js';
import type { PublishedWeights } from './published-weights.js';
import { SamplingTask } from './sampling-task.js';
import { NoAnswer, Refusal, WrongAnswer } from './server-error.js';

/** All completions of a call: which are there, and how their prompts fare at the servers. */
export class Sampling {
  readonly groups: Completion[][];
  /** Prompts that no server works on. */
  readonly waiting: SamplingTask[];
  readonly total: number;
  done = 0;
  tokens = 0;

  /** @throws UserError: a prompt that leaves no room */
  constructor(
    private readonly model: Model,
    requests: readonly GroupRequest[],
    options: SamplingOptions,
    seed: number,
    private readonly weights: PublishedWeights,
  ) {
    const rows = splitRequests(requests, options, seed, model.decoder.config.maxPositions);
    this.groups = requests.map(() => []);
    this.waiting = SamplingTask.all(rows);
    this.total = rows.length;
  }

  /**
   * One request for what a prompt lacks. What came whole is kept; if that is not all, the prompt waits again.
   *
   * @throws UserError: the prompt is given up; the signal's reason
   */
  async attempt(server: PooledServer, task: SamplingTask, signal: AbortSignal): Promise<void> {
    const { model, weights } = this;
    const { prompt, limit, options, seed } = task.request;
    const { keys, asked } = task;
    const request = { prompt, count: asked.length, limit, options, endIds: model.endIds, seed, keys };
    try {
      this.#take(server, task, asked, await server.generate(request, weights, signal));
    } catch (error) {
      signal.throwIfAborted();
      const isKnown = [NoAnswer, Refusal, WrongAnswer].some((kind) => error instanceof kind);
      if (!isKnown) throw error;
      // What the server never got is not the prompt's fault.
      if (!(error instanceof NoAnswer) || error.wasSent) task.failed(server.name, (error as Error).message);
    }
    if (task.wanted.size > 0) this.waiting.unshift(task);
  }

  #take(
    server: PooledServer,
    task: SamplingTask,
    asked: readonly number[],
    answers: readonly RemoteCompletion[],
  ): void {
    const { model } = this;
    const { group, prompt, limit, options } = task.request;
    const { wanted } = task;
    const count = asked.length;
    if (answers.length > count)
      throw new WrongAnswer(`${count} completions were asked for, ${answers.length} came`);
    let unusable: [index: number, why: string] | undefined;
    for (const answer of answers) {
      const index = asked[answer.index];
      if (index === undefined || !wanted.has(index)) continue;
      const checked = checkCompletion(answer, { model, prompt, limit, options });
      if (checked === 'another prompt') throw anotherPrompt(server, answer, prompt);
      if (typeof checked === 'string') {
        unusable ??= [index, checked];
        continue;
      }
      wanted.delete(index);
      const source = { server: server.name, weightVersion: this.weights.version };
      this.groups[group]![index] = { ...checked, source };
      this.done++;
      this.tokens += checked.ids.length;
    }
    if (unusable) task.redraw(server.name, ...unusable);
    else if (wanted.size > 0)
      throw new WrongAnswer(`${count} completions were asked for, ${answers.length} came`);
  }
}

function anotherPrompt({ name }: PooledServer, { prompt: read }: RemoteCompletion, sent: readonly number[]) {
  const length = typeof read === 'number' ? read : read.length;
  return new UserError(
    `${name} was sent a prompt of ${sent.length} tokens, and read another one, of ${length}`,
    {
      hint: 'It truncates prompts, adds tokens, or serves another model. Serve the model that is trained, without a limit on prompts.',
    },
  );
}
