/** Accuracy and rewards on held-out problems: prompts rendered and completions decoded by the functions that training uses. */
import { UserError } from '../config/errors.js';
import type { Model } from '../models/index.js';
import { type RewardFailure, scoreCompletions, totals } from '../rewards/index.js';
import { type Completion, type SamplingOptions, sample } from '../rollout/index.js';
import type { Problem, Task } from '../tasks/task.js';
import { renderPrompt } from '../text/render.js';
import { clusteredWilson, meanInterval } from './interval.js';

export interface EvalOptions {
  /** Most problems. */
  limit: number;
  /** Sampled completions a problem, beside the greedy one; 0 for greedy only. */
  samples: number;
  /** Temperature of the sampled completions. */
  temperature: number;
  /** Everything else about decoding; its own temperature is not used. */
  sampling: SamplingOptions;
}

/** How one way of decoding did. */
export interface Score {
  /** Share of correct completions, with its 95 % interval over problems; null where the task cannot tell. */
  accuracy: number | null;
  low: number | null;
  high: number | null;
  /** Correct completions, of `total`; null where the task cannot tell. */
  correct: number | null;
  total: number;
  /**
   * Mean over problems of the weighted sum of the rewards, with its 95 % interval; null where no completion has one,
   * and the interval also with fewer than three problems, or when all are equal.
   */
  reward: number | null;
  rewardLow: number | null;
  rewardHigh: number | null;
  /** Tokens a completion, the end token included. */
  meanLength: number;
  /** Share of completions that were cut at the length limit. */
  truncated: number;
  /** Mean of each reward over the completions that have a value from it; null where none has. */
  rewards: Record<string, number | null>;
  /** Values that are missing because a reward function failed, over all rewards. */
  failed: number;
}

/** A completion to show. */
export interface EvalExample {
  /** The prompt as the model saw it. */
  prompt: string;
  completion: string;
  /** Null where the task cannot tell. */
  correct: boolean | null;
  /** Weighted sum of its rewards; null where it has none. */
  reward: number | null;
}

export interface EvalResult {
  /** Problems evaluated on. */
  problems: number;
  greedy: Score;
  sampled?: Score;
  /** The first problems with their greedy completions. */
  examples: EvalExample[];
  /** Every failure of a reward function; none stops the evaluation, and none counts as a number. */
  failures: RewardFailure[];
}

/** First key of evaluation's random streams; training's is the step, never negative. */
const EVAL_STREAM = -1;

const EXAMPLES = 3;

/**
 * Evaluates on the first `limit` held-out problems: once greedily and, with `samples`, at `temperature`. With equal
 * seeds, models draw from the same streams, so that two evaluations of a run differ by the model alone.
 *
 * @throws UserError when the task has no held-out problems, or a prompt does not fit the model
 */
export async function evaluate(
  model: Model,
  task: Task,
  { limit, samples, temperature, sampling }: EvalOptions,
  seed: number,
): Promise<EvalResult> {
  const problems = task.eval.slice(0, limit);
  if (problems.length === 0) {
    throw new UserError(`task ${task.name} has no held-out problems to evaluate on`, {
      hint: 'Set task.evalSize above 0, or task.evalData to a file of held-out problems.',
    });
  }
  const prompts = problems.map(({ prompt }) => renderPrompt(model.tokenizer, model.template, prompt));
  const run = async (count: number, options: SamplingOptions) => {
    const requests = prompts.map(({ ids }, problem) => ({ ids, count, keys: [EVAL_STREAM, problem] }));
    return grade(task, problems, await sample(model, requests, options, seed));
  };
  const greedy = await run(1, { ...sampling, temperature: 0 });
  const sampled = samples > 0 ? await run(samples, { ...sampling, temperature }) : undefined;
  return {
    problems: problems.length,
    greedy: greedy.score,
    ...(sampled && { sampled: sampled.score }),
    examples: prompts.slice(0, EXAMPLES).map(({ text }, i) => ({
      prompt: text,
      completion: greedy.groups[i]![0]!.text,
      correct: greedy.correct && greedy.correct[i] === 1,
      reward: greedy.means[i]!,
    })),
    failures: [...greedy.failures, ...(sampled?.failures ?? [])],
  };
}

interface Graded {
  groups: Completion[][];
  /** Correct completions of each problem; null where the task cannot tell. */
  correct: number[] | null;
  /** Mean total reward of each problem; null where none of its completions has one. */
  means: (number | null)[];
  score: Score;
  failures: RewardFailure[];
}

/** Grades and scores the groups, one a problem, all of the same size. */
async function grade(task: Task, problems: Problem[], groups: Completion[][]): Promise<Graded> {
  const all = groups.flat();
  const size = groups[0]!.length;
  const correct = task.isCorrect
    ? groups.map((group, i) => group.filter(({ text }) => task.isCorrect!(text, problems[i]!.row)).length)
    : null;
  const repeated = groups.flatMap((group, i) => group.map(() => problems[i]!));
  const table = await scoreCompletions(
    task.rewards,
    {
      prompts: repeated.map(({ prompt }) => prompt),
      completions: all.map(({ text }) => text),
      rows: repeated.map(({ row }) => row),
    },
    { onError: 'drop' },
  );
  const { names, columns, failures } = table;
  const rewards = totals(table);
  const means = groups.map((_, i) => meanOfPresent(rewards.subarray(i * size, (i + 1) * size)));
  const known = means.filter((mean) => mean !== null);
  const interval = meanInterval(known);
  const right = correct && sum(correct);
  const score: Score = {
    accuracy: right === null ? null : right / all.length,
    ...(correct ? clusteredWilson(correct, size) : { low: null, high: null }),
    correct: right,
    total: all.length,
    reward: known.length > 0 ? sum(known) / known.length : null,
    rewardLow: interval?.low ?? null,
    rewardHigh: interval?.high ?? null,
    meanLength: sum(all.map(({ ids }) => ids.length)) / all.length,
    truncated: all.filter(({ finishReason }) => finishReason === 'length').length / all.length,
    rewards: Object.fromEntries(names.map((name, r) => [name, meanOfPresent(columns[r]!)])),
    failed: sum(failures.map(({ affected }) => affected)),
  };
  return { groups, correct, means, score, failures };
}

/** NaN marks a completion without a value. */
function meanOfPresent(column: Float64Array): number | null {
  const present = [...column].filter((value) => !Number.isNaN(value));
  return present.length === 0 ? null : sum(present) / present.length;
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
