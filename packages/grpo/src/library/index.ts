export { type ReplayOptions, replayStep } from './replay-step.js';
export type { EvalSettings, SftSettings, TrainSettings } from './resolve-run.js';
export {
  type EvaluateOptions,
  evaluate,
  openRun,
  type RunOptions,
  type RunResult,
  type SftOptions,
  sft,
  type TrainOptions,
  train,
} from './run.js';
export { runStep, type StepOptions } from './run-step.js';
export { type TinyModelOptions, writeTinyModel } from './tiny-model.js';
