/**
 * grpo as a library: load a model, sample from it, evaluate it, and train it with SFT or GRPO, as the commands do.
 *
 * A run is a configuration, opened as a session, and trained. This one needs no files and takes seconds; its tiny
 * model has random weights and learns nothing in two steps:
 *
 * @example
 * import { openSession, resolveConfig, trainGrpo } from 'grpo';
 *
 * const resolved = resolveConfig({
 *   command: 'train',
 *   settings: ['task.name=arithmetic', 'train.steps=2', 'rollout.maxNewTokens=20', 'eval.limit=20'],
 * });
 * const session = await openSession(resolved, {
 *   watcher: { step: (row) => console.log(row.step, row.reward) },
 * });
 * try {
 *   const { after } = await trainGrpo(session);
 *   console.log(after?.greedy.accuracy, session.folder.path);
 * } finally {
 *   await session[Symbol.asyncDispose]();
 * }
 *
 * @module
 */
export {
  type Config,
  type ConfigSources,
  objectLayer,
  type ResolvedConfig,
  resolveConfig,
  UsageError,
  UserError,
} from './config/index.js';
export { loadModel, type Model, saveModel } from './models/index.js';
export { type Loss, type LossInput, type LossName, type LossOutput, losses } from './objective/index.js';
export { each, type Reward, type RewardBatch, type RewardFunction } from './rewards/index.js';
export {
  type Completion,
  type GroupRequest,
  plainSampling,
  type SamplingOptions,
  sample,
} from './rollout/index.js';
export type { Problem, Task } from './tasks/task.js';
export type { Message, Prompt } from './text/message.js';
export { renderPrompt } from './text/render.js';
export {
  type EvalResult,
  evaluate,
  openSession,
  type RunEnd,
  type Session,
  type Stages,
  stages,
  trainGrpo,
  trainSft,
  type Watcher,
} from './train/index.js';
