import { UserError } from '../config/errors.js';
import type { Problem } from '../tasks/task.js';
import type { UpdateRecord } from '../trace/index.js';
import { accumulateGradients } from './accumulate.js';
import { type FrozenLogprobs, frozenLogprobs } from './frozen-logprobs.js';
import { type Rollout, rollOut } from './roll-out.js';
import { Stopwatch } from './stopwatch.js';
import { type TokenMeans, TokenTally } from './tally.js';
import type { Trainer } from './trainer.js';
import { normsOf, type ScoredIds } from './update-trace.js';
import { WeightSample } from './weight-sample.js';

/** One step, for records and metrics. */
export interface StepResult {
  rollout: Rollout;
  frozen: FrozenLogprobs;
  /** The ids that were scored, by completion. */
  scored: ReadonlyMap<number, ScoredIds>;
  /** What each update was made of. */
  updates: UpdateRecord[];
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
  const scored = new Map<number, ScoredIds>();
  const updates: UpdateRecord[] = [];
  for (let iteration = 0; iteration < objective.iterations; iteration++) {
    for (const prompts of minibatches(problems.length, objective.minibatches)) {
      const batch = { rollout, frozen, prompts, compareSampler: updates.length === 0, scored };
      const { loss, trace } = await accumulateGradients(trainer, batch, tally, clock);
      using weights = trainer.measureWeights ? new WeightSample(trainer.optimizer) : undefined;
      const { gradNorm, gradNorms } = clock.time('update', () =>
        trainer.stages.update(trainer.optimizer, learningRate, optimizer.maxGradNorm),
      );
      if (!Number.isFinite(gradNorm)) throw notFinite(step, updates.length, gradNorm);
      updates.push(
        trace.record({
          loss,
          learningRate,
          gradNorm,
          ...(gradNorms && normsOf(gradNorms)),
          ...weights?.changes(),
        }),
      );
    }
  }
  return {
    rollout,
    frozen,
    scored,
    updates,
    learningRate,
    loss: mean(updates.map((update) => update.loss!)),
    gradNorm: mean(updates.map((update) => update.gradNorm!)),
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
