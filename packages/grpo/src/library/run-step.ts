import { refuseUnknown } from '../config/unknown-option.js';
import { forOneStep, type StepTaken, takeStep } from '../run/one-step.js';
import { openConfigured, RUN_OPTIONS, type TrainOptions } from './run.js';

/** What {@link runStep} takes. */
export type StepOptions = Omit<TrainOptions, 'resume' | 'restart'>;

/**
 * Takes one step of GRPO: its record for {@link viewOf}, and what the model answers to the same prompts before and after it,
 * with the paired difference. It leaves a run folder of one step.
 *
 * @example
 * import { defineTask, runStep, viewOf, writeTinyModel } from 'grpo';
 *
 * const task = defineTask({
 *   name: 'brief',
 *   rows: ['a', 'b', 'c'],
 *   prompt: (row) => row,
 *   rewards: { brief: (completion) => 1 / (1 + completion.length) },
 * });
 * const model = await writeTinyModel('models/tiny');
 * const { record, change } = await runStep({ model, task, settings: { rollout: { maxNewTokens: 8 } } });
 * if (record) console.log(viewOf(record).loss?.components);
 * console.log(change?.greedy?.mean, change?.greedy?.low, change?.greedy?.high);
 */
export async function runStep(options: StepOptions): Promise<StepTaken & { output: string }> {
  const known = RUN_OPTIONS.filter((name) => name !== 'resume' && name !== 'restart');
  refuseUnknown('runStep()', options, [...known, 'stages']);
  await using run = await openConfigured('train', options, forOneStep);
  return { ...(await takeStep(run, options.stages)), output: run.folder.path };
}
