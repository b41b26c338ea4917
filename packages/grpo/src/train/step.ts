import { UserError } from '../config/errors.js';
import type { Problem } from '../tasks/task.js';
import { accumulateGradients } from './accumulate.js';
import { frozenLogprobs } from './frozen-logprobs.js';
import { type Rollout, rollOut } from './roll-out.js';
import { Stopwatch } from './stopwatch.js';
import { type TokenMeans, TokenTally } from './tally.js';
import type { Trainer } from './trainer.js';

/** One step, for records and metrics. */
export interface StepResult {
  rollout: Rollout;
  learningRate: number;
  /** Means over the step's updates. */
  loss: number;
  gradNorm: number;
  /** Token-weighted means over the step; `kl` only with a reference. */
  means: TokenMeans;
  /** Seconds of each stage. */
  seconds: Record<string, number>;
}

/**
 * One GRPO step: sample completions of every problem, compare their rewards within each group, and update the policy
 * by the log-probs of what was sampled.
 *
 * @param step - counted from 0; with the seed it fixes every random draw
 * @throws UserError when a gradient is not finite; the weights are then those before that update
 */
export async function grpoStep(
  trainer: Trainer,
  problems: readonly Problem[],
  step: number,
  learningRate: number,
): Promise<StepResult> {
  const { objective, optimizer } = trainer.config;
  const clock = new Stopwatch();
  const rollout = await rollOut(trainer, problems, step, clock);
  const frozen = await frozenLogprobs(trainer, rollout, clock);

  const tally = new TokenTally(frozen.reference_B !== undefined);
  const losses: number[] = [];
  const gradNorms: number[] = [];
  for (let iteration = 0; iteration < objective.iterations; iteration++) {
    for (const prompts of minibatches(problems.length, objective.minibatches)) {
      const batch = { rollout, frozen, prompts, compareSampler: losses.length === 0 };
      const loss = await accumulateGradients(trainer, batch, tally, clock);
      const { gradNorm } = clock.time('update', () =>
        trainer.stages.update(trainer.optimizer, learningRate, optimizer.maxGradNorm),
      );
      if (!Number.isFinite(gradNorm)) throw notFinite(step, losses.length, gradNorm);
      losses.push(loss);
      gradNorms.push(gradNorm);
    }
  }
  return {
    rollout,
    learningRate,
    loss: mean(losses),
    gradNorm: mean(gradNorms),
    means: tally.means,
    seconds: clock.seconds,
  };
}

/** The prompts 0 … count − 1 in `n` equal runs. */
function minibatches(count: number, n: number): number[][] {
  const size = count / n;
  return Array.from({ length: n }, (_, i) => Array.from({ length: size }, (_, j) => i * size + j));
}

function notFinite(step: number, updates: number, gradNorm: number): UserError {
  const since = updates === 0 ? 'before the step' : `after its first ${updates} updates`;
  return new UserError(`the gradient of step ${step + 1} is ${gradNorm}; the weights are as ${since}`, {
    hint: 'A smaller optimizer.learningRate or objective.beta usually helps; look at the last rows of metrics.jsonl',
  });
}

const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
