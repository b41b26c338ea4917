/** Accuracy and rewards on held-out problems: prompts rendered and completions decoded by the functions that training uses. */
import { excerpt, printable } from '../errors/printable.js';
import { UserError } from '../errors/user-error.js';
import { defaultKs } from '../maths/pass-at-k.js';
import type { Model } from '../models/index.js';
import { Watch } from '../progress/watch.js';
import { describeError } from '../rewards/describe-error.js';
import { groundsOf, type RewardFailure, scoreCompletions, totals } from '../rewards/index.js';
import { type Completion, type SamplingOptions, sample as sampleHere } from '../rollout/index.js';
import { renderProblems } from '../tasks/render-problems.js';
import type { Problem, Task } from '../tasks/task.js';
import type { RenderedPrompt } from '../text/render.js';
import type { EvalCompletion, EvalExample } from './eval-completion.js';
import { type Estimate, passAtKs, type Score, scoreOf } from './eval-score.js';

export interface EvalOptions {
  /** Most problems. */
  limit: number;
  /** Sampled completions a problem, beside the greedy one; 0 for greedy only. */
  samples: number;
  /** The k of pass@k, each at most `samples`. When not given 1, 2, 4, … and `samples`, where there are two samples. */
  k?: readonly number[] | undefined;
  /** Temperature of the sampled completions. */
  temperature: number;
  /** Everything else about decoding; its own temperature is not used. */
  sampling: SamplingOptions;
  /** Samples elsewhere than in this process. */
  sample?: typeof sampleHere;
}

export interface EvalResult {
  /** Problems evaluated on. */
  problems: number;
  greedy: Score;
  sampled?: Score;
  /** Share of problems that k of the sampled completions are expected to solve, by k; only where the task can tell. */
  passAtK?: Record<string, Estimate>;
  /** Every completion: the greedy ones, then the sampled ones, problem by problem. */
  completions: EvalCompletion[];
  /** The first problems with their greedy completions. */
  examples: EvalExample[];
  /** Every failure of a reward function; none stops the evaluation, and none counts as a number. */
  failures: RewardFailure[];
}

/** First key of evaluation's random streams; training's is the step, never negative. */
export const EVAL_STREAM = -1;

const EXAMPLES = 3;

/**
 * Evaluates on the first `limit` held-out problems: once greedily and, with `samples`, at `temperature`, each prompt
 * computed once. With equal seeds, models draw from the same streams, so that two evaluations of a run differ by the
 * model alone.
 *
 * @throws UserError when the task has no held-out problems, or a prompt does not fit the model; Abandoned
 */
export async function evaluate(
  model: Model,
  task: Task,
  { limit, samples, k = defaultKs(samples), temperature, sampling, sample = sampleHere }: EvalOptions,
  seed: number,
  watch = new Watch(),
): Promise<EvalResult> {
  const problems = task.eval.slice(0, limit);
  if (problems.length === 0) {
    throw new UserError(`task ${task.name} has no held-out problems to evaluate on`, {
      hint: 'Set task.evalSize above 0, or task.evalData to a file of held-out problems.',
    });
  }
  const prompts = renderProblems(model, problems);
  // The greedy one last: it needs no place in the random streams.
  const temperatures = [...Array<number>(samples).fill(temperature), 0];
  const requests = prompts.map(({ ids }, problem) => ({
    ids,
    count: temperatures.length,
    keys: [EVAL_STREAM, problem],
    temperatures,
  }));
  const plain = { ...sampling, keepSupport: false };
  const groups = await sample(model, requests, plain, seed, watch.named('evaluation'));
  const gradeAll = (decoding: EvalCompletion['decoding'], of: (group: Completion[]) => Completion[]) =>
    grade(task, { problems, prompts, groups: groups.map(of), decoding }, watch);
  const greedy = await gradeAll('greedy', (group) => group.slice(samples));
  const sampled = samples > 0 ? await gradeAll('sampled', (group) => group.slice(0, samples)) : undefined;
  return {
    problems: problems.length,
    greedy: greedy.score,
    ...(sampled && { sampled: sampled.score }),
    ...(sampled && task.isCorrect && k.length > 0 && { passAtK: passAtKs(sampled.groups, k) }),
    completions: [...greedy.groups.flat(), ...(sampled?.groups.flat() ?? [])],
    examples: greedy.groups.slice(0, EXAMPLES).map(([first]) => {
      const { prompt, completion, correct, reward } = first!;
      return { prompt, completion, correct, reward };
    }),
    failures: [...greedy.failures, ...(sampled?.failures ?? [])],
  };
}

interface Graded {
  groups: EvalCompletion[][];
  score: Score;
  failures: RewardFailure[];
}

/** Grades and scores the groups, one a problem, all of the same size. */
async function grade(
  task: Task,
  batch: {
    problems: readonly Problem[];
    prompts: readonly RenderedPrompt[];
    groups: readonly Completion[][];
    decoding: EvalCompletion['decoding'];
  },
  watch: Watch,
): Promise<Graded> {
  const { problems, prompts, groups, decoding } = batch;
  const size = groups[0]!.length;
  const repeated = groups.flatMap((group, i) => group.map(() => problems[i]!));
  const scored = {
    prompts: repeated.map(({ prompt }) => prompt),
    completions: groups.flat().map(({ text }) => text),
    completionIds: groups.flat().map(({ ids }) => ids),
    rows: repeated.map(({ row }) => row),
  };
  const scoring = { stage: 'scoring', done: 0, total: repeated.length, unit: 'completions' };
  const table = await watch.until(scoring, () => scoreCompletions(task.rewards, scored, { onError: 'drop' }));
  const { names, columns, failures } = table;
  const rewards_B = totals(table);
  const graded = groups.map((group, problem) =>
    group.map((completion, index): EvalCompletion => {
      const b = problem * size + index;
      const { text, finishReason, ids } = completion;
      return {
        decoding,
        problem,
        index,
        prompt: prompts[problem]!.text,
        completion: text,
        finishReason,
        ids,
        length: ids.length,
        correct: task.isCorrect ? judged(task, completion, problems[problem]!) : null,
        reward: numberOrNull(rewards_B[b]!),
        rewards: Object.fromEntries(names.map((name, r) => [name, numberOrNull(columns[r]![b]!)])),
        ...groundsOf(table, b),
      };
    }),
  );
  const failed = failures.reduce((sum, { affected }) => sum + affected, 0);
  return { groups: graded, score: scoreOf(graded, failed), failures };
}

/**
 * Grades a completion by the task's `isCorrect`.
 *
 * @throws UserError when it throws, or returns no boolean
 */
function judged(task: Task, { text }: Completion, { row }: Problem): boolean {
  const where = `task ${task.name}: isCorrect, of the completion ${excerpt(text)}`;
  let answer: unknown;
  try {
    answer = task.isCorrect!(text, row);
  } catch (cause) {
    throw new UserError(`${where} ${describeError(cause)}`, { cause });
  }
  if (typeof answer === 'boolean') return answer;
  throw new UserError(`${where} returned ${printable(String(answer))}, expected true or false`);
}

/** NaN marks a completion without a value. */
const numberOrNull = (value: number) => (Number.isNaN(value) ? null : value);
