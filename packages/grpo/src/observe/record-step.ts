import { grpoStep } from '../step/grpo-step.js';
import type { Trainer } from '../step/trainer.js';
import type { Problem } from '../tasks/task.js';
import { type RecordedStep, type RecorderOptions, StepRecorder } from './step-recorder.js';

/**
 * Does one step and records it, beside what the trainer's own observers do.
 *
 * @throws what the step throws
 */
export async function recordStep(
  trainer: Trainer,
  problems: readonly Problem[],
  step: number,
  learningRate: number,
  options?: RecorderOptions,
): Promise<RecordedStep> {
  using recorder = new StepRecorder(trainer, options);
  const observers = [recorder, ...(trainer.observers ?? [])];
  await grpoStep({ ...trainer, observers }, problems, step, learningRate);
  return recorder.recorded;
}
