import type { AdamW, GradientNorms } from '@grpo/torch';
import type { DiffusionSettings } from '../config/sections/diffusion.js';
import type { Decoder, Model } from '../models/index.js';
import {
  type AdvantageSettings,
  type Advantages,
  advantagesOf,
  composedLoss,
  type Loss,
  type MaskPlan,
  type PlannedGroup,
  planMasks,
  type RewardColumns,
  type ScoredGroup,
  type ScoringOptions,
  scoreTokens,
  type TokenScores,
} from '../objective/index.js';
import type { Watch } from '../progress/watch.js';
import { type RewardTable, scoreCompletions } from '../rewards/index.js';
import { type Completion, type GroupRequest, type SamplingOptions, sample } from '../rollout/index.js';
import { renderProblems } from '../tasks/render-problems.js';
import type { Problem, Task } from '../tasks/task.js';
import type { RenderedPrompt } from '../text/render.js';
import type { Groups } from './micro-batch.js';

/**
 * The stages of a GRPO step, in order. Each is one function with typed input and output: a stage of your own takes the
 * place of one of these, and a fault is one that does its work wrongly.
 */
export interface Stages {
  /** Problems → text and ids, by the model's own template. */
  render(model: Model, problems: readonly Problem[]): RenderedPrompt[];
  /** Prompts → groups of completions. */
  sample(
    model: Model,
    requests: readonly GroupRequest[],
    options: SamplingOptions,
    seed: number,
    watch?: Watch,
  ): Promise<Completion[][]>;
  /** Completions → one column of rewards per function; failures marked. */
  score(
    task: Task,
    problems: readonly Problem[],
    groups: readonly Completion[][],
    onError: 'stop' | 'drop',
  ): Promise<RewardTable>;
  /** Sampled prompts and completions → the ids that are scored and trained on: the very same. */
  assemble(model: Model, sampled: Groups): Groups;
  /** For a masked-diffusion model: completions → the places that the passes of one iteration hide, by completion. */
  plan(
    groups: readonly PlannedGroup[],
    settings: DiffusionSettings,
    seed: number,
    place: { step: number; iteration: number },
  ): MaskPlan[];
  /** Rewards → advantages. */
  advantage(rewards: RewardColumns, groupSize: number, settings: AdvantageSettings): Advantages;
  /** Token log-probs and entropies under a decoder: the policy, or the reference. */
  logprob(
    decoder: Decoder,
    groups: readonly ScoredGroup[],
    temperature: number,
    options?: ScoringOptions,
  ): TokenScores;
  /** Log-probs and advantages → the loss. */
  objective: Loss;
  /** Accumulated gradients → new weights. */
  update(
    optimizer: AdamW,
    learningRate: number,
    maxGradNorm: number,
  ): { gradNorm: number } & Partial<GradientNorms>;
}

/** The standard stages, which a step runs unless you replace them. */
export const stages: Stages = {
  render: (model, problems) => renderProblems(model, problems),
  sample,
  score: (task, problems, groups, onError) => {
    const rows = problems.flatMap((problem, p) => groups[p]!.map((completion) => ({ problem, completion })));
    const batch = {
      prompts: rows.map(({ problem }) => problem.prompt),
      completions: rows.map(({ completion }) => completion.text),
      completionIds: rows.map(({ completion }) => completion.ids),
      rows: rows.map(({ problem }) => problem.row),
    };
    return scoreCompletions(task.rewards, batch, { onError });
  },
  assemble: (_model, sampled) => sampled,
  plan: planMasks,
  advantage: advantagesOf,
  logprob: scoreTokens,
  objective: composedLoss,
  update: (optimizer, learningRate, maxGradNorm) => optimizer.step(learningRate, maxGradNorm),
};
