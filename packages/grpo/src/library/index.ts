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
export type { EvalSettings, SftSettings, TrainSettings } from './settings.js';
export { type TinyModelOptions, writeTinyModel } from './tiny-model.js';
