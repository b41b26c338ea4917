import { existsSync } from 'node:fs';
import { IN_CODE, type InCode } from '../../config/in-code.js';
import { type ResolvedConfig, readRecord, recordLayer, resolveConfig } from '../../config/index.js';
import { noRun, runOf } from '../../config/run-of.js';
import type { StepRecord } from '../../trace/index.js';
import type { ReplaySettings } from '../../view/replay-settings.js';
import { checkpointsIn } from '../folder/checkpoint.js';
import { initialModel } from '../model-source.js';

/** The weights that took a step, and the settings of their run. */
export interface StepWeights {
  /** The folder of the model. */
  folder: string;
  /** The checkpoint that they are of; the run started from them when missing. */
  checkpoint?: string;
  /** The settings of the run, with those of the replay. */
  resolved: ResolvedConfig;
}

/**
 * Finds the weights that took a recorded step: the model that its run started from, or the checkpoint of the step before.
 *
 * @param path - a run folder, or that of a record in it
 * @returns as text, why there are none
 */
export function findWeights(
  path: string,
  record: StepRecord,
  settings: ReplaySettings,
): StepWeights | string {
  const folder = runOf(path);
  if (folder === undefined) return noRun(path);
  const { values, ownStages = [] } = readRecord(folder);
  const isMoving = Number(values['kl.referenceEvery']?.value ?? 0) > 0;
  const lack = isMoving ? 'the reference of the run moves' : notReplayed(record, ownStages);
  if (lack !== undefined) return lack;
  const before = record.step - 1;
  const checkpoints = checkpointsIn(`${folder}/checkpoints`).filter(({ afterError }) => !afterError);
  const checkpoint = checkpoints.find(({ step }) => step === before)?.dir;
  if (before > 0 && checkpoint === undefined) {
    const steps = checkpoints.map(({ step }) => step).sort((a, b) => a - b);
    return `${folder} keeps no checkpoint of step ${before}, whose weights took step ${record.step}${steps.length > 0 ? `; it has those of ${steps.join(', ')}` : ''} (checkpoint.every and checkpoint.keep set which)`;
  }
  const { 'task.name': task, rewards } = values;
  const code = { task: task?.value, rewards: rewards?.value } as InCode;
  const isInCode = task?.source === IN_CODE;
  const layers = [recordLayer(folder, isInCode ? code : undefined)];
  const resolved = resolveConfig({ command: 'train', layers, ...(isInCode && { code }) });
  const own = { ...resolved, config: withSettings(resolved.config, settings) };
  const start = initialModel(own.config);
  if (checkpoint === undefined && own.config.model === undefined && !existsSync(start))
    return `the model that ${folder} started from is gone: ${start}`;
  return { folder: checkpoint ?? start, ...(checkpoint !== undefined && { checkpoint }), resolved: own };
}

/** Stages that a replay runs: of the others it has what they gave. */
const RUN_AGAIN = ['assemble', 'advantage', 'logprob', 'objective'];

/** What of a step a replay with the model does not do again. */
function notReplayed(
  { prompts, completions, rewards }: StepRecord,
  ownStages: readonly string[],
): string | undefined {
  // The record of a step that an evaluation stopped has what was declared and what was found.
  if (!prompts?.texts || !completions?.prompt || !rewards?.totals) return 'the record has no rollout';
  const own = ownStages.filter((name) => RUN_AGAIN.includes(name));
  if (own.length > 0) return `the run has stages of its own (${own.join(', ')}), which only its program has`;
  if (prompts.replayed?.some((step) => step !== 0)) return 'groups of the step were sampled in earlier ones';
  return undefined;
}

/** The configuration with the settings of the replay, for one step whose groups are those of the record. */
function withSettings(config: ResolvedConfig['config'], settings: ReplaySettings): ResolvedConfig['config'] {
  const { objective, advantage, kl, entropy, correction, groups } = config;
  const changed = {
    objective: { ...objective, ...settings.objective, iterations: 1 },
    advantage: { ...advantage, ...settings.advantage },
    kl: { ...kl, ...settings.kl },
    entropy: { ...entropy, ...settings.entropy },
    correction: { ...correction, ...settings.correction },
  } as Pick<typeof config, 'objective' | 'advantage' | 'kl' | 'entropy' | 'correction'>;
  return { ...config, ...changed, groups: { ...groups, refills: 0, replay: 0, overlongBuffer: 0 } };
}
