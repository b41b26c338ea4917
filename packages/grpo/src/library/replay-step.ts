import { objectLayer } from '../config/index.js';
import { refuseUnknown } from '../config/unknown-option.js';
import { type ReplayedStep, replayStep as replayRecorded } from '../run/replay/replay-step.js';
import { readStep } from '../view/read-step.js';
import type { TrainSettings } from './resolve-run.js';

/** What {@link replayStep} takes. */
export interface ReplayOptions {
  /** A run folder, a folder of step records, or one of them. */
  path: string;
  /** The step; the last one that was recorded when not given. */
  at?: number;
  /** Those that change; a recorded rollout can have no others anew. */
  settings: Pick<TrainSettings, 'objective' | 'advantage' | 'kl' | 'entropy' | 'correction'>;
}

/**
 * Replays a recorded step with other settings: advantages, terms, weights and loss. Where the run still has the weights that
 * took the step, the completions are scored and differentiated anew, and `model` has the parts of the gradient; otherwise
 * `model` says why not.
 *
 * @example
 * import { defineTask, replayStep, runStep, viewOf, writeTinyModel } from 'grpo';
 *
 * const task = defineTask({
 *   name: 'brief',
 *   rows: ['a', 'b', 'c'],
 *   prompt: (row) => row,
 *   rewards: { brief: (completion) => 1 / (1 + completion.length) },
 * });
 * const model = await writeTinyModel('models/tiny');
 * const settings = { rollout: { maxNewTokens: 8 }, kl: { beta: 0.1 } };
 * const { output } = await runStep({ model, task, settings });
 * const { recorded, replayed, model: anew } = await replayStep({
 *   path: output,
 *   settings: { objective: { loss: 'grpo' }, kl: { beta: 1 } },
 * });
 * console.log(viewOf(recorded).loss?.loss, viewOf(replayed).loss?.loss);
 * if (typeof anew !== 'string') console.log(anew.gradient.policy.norm, anew.gradient.kl?.norm);
 *
 * @throws UsageError for settings that are wrong; UserError and its kind for files, and for settings that need weights that
 * are not there
 */
export async function replayStep(options: ReplayOptions): Promise<ReplayedStep> {
  refuseUnknown('replayStep()', options, ['path', 'at', 'settings']);
  const { path, at, settings } = options;
  const record = await readStep(path, at);
  return replayRecorded(path, record, objectLayer('settings of replayStep()', settings));
}
