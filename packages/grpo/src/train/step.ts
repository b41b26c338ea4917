import { setImmediate } from 'node:timers/promises';
import { type AdamW, noGrad, type Tensor, tensor, tidy } from '@grpo/torch';
import { UserError } from '../config/errors.js';
import type { Config } from '../config/schema.js';
import type { Decoder, Model } from '../models/index.js';
import type { Advantages } from '../objective/index.js';
import { type RewardTable, totals } from '../rewards/index.js';
import type { Completion, SamplingOptions } from '../rollout/index.js';
import type { Problem, Task } from '../tasks/task.js';
import type { RenderedPrompt } from '../text/render.js';
import { type GroupPart, microBatches } from './micro-batch.js';
import type { Stages } from './stages.js';
import { Stopwatch } from './stopwatch.js';
import { type TokenMeans, TokenTally } from './tally.js';

/** What a GRPO step works with. */
export interface Trainer {
  model: Model;
  /** The frozen policy that the KL is measured to; only with beta > 0. */
  reference: Decoder | undefined;
  task: Task;
  optimizer: AdamW;
  config: Config;
  sampling: SamplingOptions;
  stages: Stages;
}

/** What the rollout of a step produced: P prompts, B = P × G completions, prompt after prompt. */
export interface Rollout {
  problems: readonly Problem[];
  prompts: RenderedPrompt[];
  completions_B: Completion[];
  rewardTable: RewardTable;
  /** Weighted sums; NaN where a completion could not be scored. */
  rewards_B: Float64Array;
  advantages: Advantages;
}

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
 * One GRPO step: render, sample, score, compare within each group, and update the policy by the log-probs of what was
 * sampled.
 *
 * @param step - counted from 0; with the seed it fixes every random draw
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
  const old_B = await oldLogprobs(trainer, rollout, clock);
  const reference_B = trainer.reference
    ? await frozenLogprobs(trainer, trainer.reference, rollout, clock, 'reference')
    : undefined;

  const tally = new TokenTally(reference_B !== undefined);
  const updates: { loss: number; gradNorm: number }[] = [];
  for (let iteration = 0; iteration < objective.iterations; iteration++) {
    for (const prompts of parts(problems.length, objective.minibatches)) {
      const batch = { rollout, prompts, old_B, reference_B, compareSampler: updates.length === 0 };
      const loss = await accumulateGradients(trainer, batch, tally, clock);
      const { gradNorm } = clock.time('update', () =>
        trainer.stages.update(trainer.optimizer, learningRate, optimizer.maxGradNorm),
      );
      if (!Number.isFinite(gradNorm)) {
        throw new UserError(
          `the gradient of step ${step + 1} is ${gradNorm}; the weights are as before the step`,
          {
            hint: 'A smaller optimizer.learningRate or objective.beta usually helps; look at the last rows of metrics.jsonl',
          },
        );
      }
      updates.push({ loss, gradNorm });
    }
  }
  const mean = (pick: (u: { loss: number; gradNorm: number }) => number) =>
    updates.reduce((sum, u) => sum + pick(u), 0) / updates.length;
  return {
    rollout,
    learningRate,
    loss: mean((u) => u.loss),
    gradNorm: mean((u) => u.gradNorm),
    means: tally.means,
    seconds: clock.seconds,
  };
}

/** Everything before the update: prompts, completions, rewards, advantages. */
async function rollOut(
  trainer: Trainer,
  problems: readonly Problem[],
  step: number,
  clock: Stopwatch,
): Promise<Rollout> {
  const { stages, model, task, config, sampling } = trainer;
  const { group } = config.rollout;
  const prompts = clock.time('render', () => stages.render(model, problems));
  const requests = prompts.map(({ ids }, p) => ({ ids, count: group, keys: [step, p] }));
  const groups = await clock.timeAsync('sample', () => stages.sample(model, requests, sampling, config.seed));
  const rewardTable = await clock.timeAsync('score', () =>
    stages.score(task, problems, groups, config.onRewardError),
  );
  const rewards_B = totals(rewardTable);
  const advantages = stages.advantage(rewards_B, group, config.objective.scaleRewards);
  return { problems, prompts, completions_B: groups.flat(), rewardTable, rewards_B, advantages };
}

/** Old log-probs by completion; undefined where the policy's own, detached, serve. */
async function oldLogprobs(
  trainer: Trainer,
  rollout: Rollout,
  clock: Stopwatch,
): Promise<Float32Array[] | undefined> {
  switch (trainer.config.objective.oldLogprobs) {
    case 'detach':
      return undefined;
    case 'sampler':
      return rollout.completions_B.map((completion) => completion.logprobs);
    case 'recompute':
      return frozenLogprobs(trainer, trainer.model.decoder, rollout, clock, 'old');
  }
}

/** Log-probs of all completions under a decoder, without gradients. */
async function frozenLogprobs(
  trainer: Trainer,
  decoder: Decoder,
  rollout: Rollout,
  clock: Stopwatch,
  stage: string,
): Promise<Float32Array[]> {
  const logprobs_B: Float32Array[] = [];
  for (const micro of split(trainer, rollout, rollout.prompts.keys())) {
    clock.time(stage, () =>
      noGrad(() =>
        tidy(() => {
          const scores = trainer.stages.logprob(
            decoder,
            groupsOf(micro, rollout),
            trainer.sampling.temperature,
          );
          scatter(scores.logprobs_T, micro, rollout, logprobs_B);
        }),
      ),
    );
    await setImmediate();
  }
  return logprobs_B;
}

interface UpdateBatch {
  rollout: Rollout;
  /** Prompts whose groups make up this update. */
  prompts: readonly number[];
  old_B: Float32Array[] | undefined;
  reference_B: Float32Array[] | undefined;
  /** The policy is still the one that sampled: its log-probs should be the sampler's. */
  compareSampler: boolean;
}

/** Adds the gradients of one update's loss, micro-batch by micro-batch; returns the loss. */
async function accumulateGradients(
  trainer: Trainer,
  batch: UpdateBatch,
  tally: TokenTally,
  clock: Stopwatch,
): Promise<number> {
  const { stages, model, config, optimizer, sampling } = trainer;
  const { rollout, old_B, reference_B } = batch;
  const { loss: name, clipLow, clipHigh, beta } = config.objective;
  const micros = split(trainer, rollout, batch.prompts);
  const all = micros.flatMap(indices);
  const update = {
    completions: all.length,
    tokens: all.reduce((sum, b) => sum + rollout.completions_B[b]!.ids.length, 0),
  };
  const { device } = model.decoder;
  let total = 0;
  for (const micro of micros) {
    const members = indices(micro);
    const lengths = members.map((b) => rollout.completions_B[b]!.ids.length);
    const gather_T = (values_B: Float32Array[] | undefined) =>
      values_B ? tensor(concat(members.map((b) => values_B[b]!)), undefined, { device }) : null;
    tidy(() => {
      const scores = clock.time('logprob', () =>
        stages.logprob(model.decoder, groupsOf(micro, rollout), sampling.temperature),
      );
      const advantages = members.flatMap((b, i) =>
        Array<number>(lengths[i]!).fill(rollout.advantages.advantages[b]!),
      );
      const out = stages.objective(name)({
        logprobs_T: scores.logprobs_T,
        oldLogprobs_T: gather_T(old_B),
        referenceLogprobs_T: gather_T(reference_B),
        advantages_T: tensor(advantages, undefined, { device }),
        lengths,
        update,
        clipLow,
        clipHigh,
        beta,
      });
      total += out.loss.item();
      tally.add(out.metrics, scores.entropies_T.sum().item());
      if (batch.compareSampler)
        tally.compare(scores.logprobs_T, gather_T(rollout.completions_B.map((c) => c.logprobs)) as Tensor);
      clock.time('backward', () => {
        out.loss.backward();
        optimizer.accumulate();
      });
    });
    await setImmediate();
  }
  return total;
}

function split({ config }: Trainer, rollout: Rollout, prompts: Iterable<number>): GroupPart[][] {
  const lengths = {
    prompts: rollout.prompts.map(({ ids }) => ids.length),
    completions: rollout.completions_B.map(({ ids }) => ids.length),
  };
  return microBatches([...prompts], lengths, config.rollout.group, config.train.microBatchTokens);
}

const indices = (micro: GroupPart[]): number[] => micro.flatMap(({ completions }) => completions);

const groupsOf = (micro: GroupPart[], { prompts, completions_B }: Rollout) =>
  micro.map(({ prompt, completions }) => ({
    prompt: prompts[prompt]!.ids,
    completions: completions.map((b) => completions_B[b]!.ids),
  }));

/** Cuts packed values `[T]` into one array a completion. */
function scatter(
  values_T: Tensor,
  micro: GroupPart[],
  { completions_B }: Rollout,
  into: Float32Array[],
): void {
  const values = values_T.toTypedArray() as Float32Array;
  let start = 0;
  for (const b of indices(micro)) {
    const { length } = completions_B[b]!.ids;
    into[b] = values.slice(start, start + length);
    start += length;
  }
}

function concat(arrays: Float32Array[]): Float32Array {
  const all = new Float32Array(arrays.reduce((sum, a) => sum + a.length, 0));
  let start = 0;
  for (const array of arrays) {
    all.set(array, start);
    start += array.length;
  }
  return all;
}

/** 0 … count − 1 in `n` equal runs. */
function parts(count: number, n: number): number[][] {
  return Array.from({ length: n }, (_, i) =>
    Array.from({ length: count / n }, (_, j) => (i * count) / n + j),
  );
}
