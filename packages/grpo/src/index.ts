/**
 * grpo as a library: a task in code, a run that trains on it, and the parts that a run is made of.
 *
 * @example
 * import { defineTask, train, writeTinyModel } from 'grpo';
 *
 * const letters = [...'abcdefghijklmnopqrstuvwxyz'].map((letter) => ({ letter }));
 *
 * const task = defineTask({
 *   name: 'letters',
 *   rows: letters,
 *   prompt: (row) => `${row.letter}:`,
 *   rewards: { share: (completion, row) => completion.split(row.letter).length - 1 },
 * });
 *
 * const run = await train({
 *   model: await writeTinyModel('models/tiny'),
 *   task,
 *   settings: { train: { steps: 2 }, rollout: { maxNewTokens: 8 } },
 *   onStep: (row) => console.log(row.step, row.reward),
 * });
 * console.log(run.output, run.model);
 *
 * @module
 */
export { UsageError, UserError } from './config/index.js';
export type { EvalResult } from './evaluation/evaluate.js';
export type { AuditedResult, EvaluationVerdict } from './evaluation/evaluate-audited.js';
export type { InspectionCheck } from './inspection/check.js';
export { type Inspection, type InspectOptions, inspectModel } from './inspection/inspect-model.js';
export * from './library/index.js';
export { loadModel, type Model, saveModel } from './models/index.js';
export {
  advantagesOf,
  composedLoss,
  klOf,
  type Loss,
  type LossInput,
  type LossOutput,
  type LossSettings,
  TokenRows,
} from './objective/index.js';
export type { MetricsRow } from './observe/metrics.js';
export { Abandoned, type Observer, type StageProgress, Watch } from './progress/watch.js';
export {
  type CompletionScore,
  each,
  type Reward,
  type RewardBatch,
  type RewardFunction,
  type RewardTable,
  type RewardValue,
  type Verdict,
} from './rewards/index.js';
export {
  type Completion,
  type GroupRequest,
  plainSampling,
  type SamplingOptions,
  sample,
} from './rollout/index.js';
export { GrpoTrainer } from './run/grpo-trainer.js';
export type { StepTaken } from './run/one-step.js';
export type { Run } from './run/open-run.js';
export type { ModelReplay } from './run/replay/replay-model.js';
export type { ReplayedStep } from './run/replay/replay-step.js';
export { type RewardModel, type RewardModelOptions, rewardModel } from './run/reward-model.js';
export type { RunEnd } from './run/run-steps.js';
export type { Batch } from './step/batch.js';
export { grpoStep, type StepResult } from './step/grpo-step.js';
export type { MicroBatchPass, StepObserver, UpdateResult } from './step/observer.js';
export { ReplayStore } from './step/replay-store.js';
export { type Stages, stages } from './step/stages.js';
export type { Trainer } from './step/trainer.js';
export { defineTask, type TaskDefinition, type TaskReward } from './tasks/define.js';
export { Supply } from './tasks/order/supply.js';
export type { Problem, Task } from './tasks/task.js';
export type { Message, Prompt } from './text/message.js';
export { type RenderedPrompt, renderPrompt } from './text/render.js';
export { type Compared, compareSteps, type StepComparison } from './view/compare-steps.js';
export { readStep } from './view/read-step.js';
export { type StepView, viewOf } from './view/step-view.js';
