export { type EvalResult, evaluate } from './evaluate.js';
export { trainGrpo } from './grpo.js';
export { openModel } from './model-source.js';
export type { Rollout } from './roll-out.js';
export { openSession, type RunEnd, type Session, samplingOf, type Watcher } from './session.js';
export { trainSft } from './sft-run.js';
export { type Stages, stages } from './stages.js';
export { grpoStep, type StepResult } from './step.js';
export type { Trainer } from './trainer.js';
