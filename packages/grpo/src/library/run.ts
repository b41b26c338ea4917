/** Runs in code: the same runs as those of the commands, with a task that is given instead of configured. */
import { setThreads } from '@grpo/torch';
import { type ResolvedConfig, UsageError } from '../config/index.js';
import { refuseUnknown } from '../config/unknown-option.js';
import type { EvalResult } from '../evaluation/evaluate.js';
import { type AuditedResult, evaluateAudited } from '../evaluation/evaluate-audited.js';
import type { MetricsRow } from '../observe/metrics.js';
import { requireAlone } from '../processes/rendezvous.js';
import { type StageProgress, Watch } from '../progress/watch.js';
import { latestCheckpoint } from '../run/folder/checkpoint.js';
import { withMemory } from '../run/memory-plan.js';
import { openSampler } from '../run/model-source.js';
import { openRun as openConfiguredRun, type Run } from '../run/open-run.js';
import type { RunEnd } from '../run/run-steps.js';
import { trainGrpo } from '../run/train-grpo.js';
import { trainSft } from '../run/train-sft.js';
import type { Stages } from '../step/stages.js';
import type { Task } from '../tasks/task.js';
import {
  type EvalSettings,
  nameOf,
  resolveRun,
  type SftSettings,
  type TrainSettings,
  type Verb,
} from './resolve-run.js';

/** What every training run takes. */
export interface RunOptions {
  /** A Hugging Face model folder, or `ORG/NAME` of one that `npx grpo fetch` got. */
  model: string;
  /** What {@link defineTask} made. */
  task: Task;
  /** The run folder. `runs/<task>-<time>` when left out. */
  output?: string;
  /** Go on with the run in `output`, from its last checkpoint, with its settings and those that are set anew. */
  resume?: boolean;
  /** With `resume`: start over where the run has no checkpoint, and throw away its rows. */
  restart?: boolean;
  /** Called after each step with its row of `metrics.jsonl`. What it throws ends the run. */
  onStep?(row: MetricsRow): void;
  /** Called after each evaluation on the held-out problems; `step` is 0 for the one before the first step. */
  onEvaluation?(result: EvalResult, step: number): void;
  /** Called with what a person should know, such as failed rewards; printed on standard error when left out. */
  onNote?(text: string): void;
  /** Called many times per second with how far the stage in progress is; it must return soon. */
  onProgress?(now: StageProgress): void;
  /** Ends the run, and saves it: at once, or after the step in progress where that has changed the weights. */
  signal?: AbortSignal;
}

/** What {@link train} takes. */
export interface TrainOptions extends RunOptions {
  settings?: TrainSettings;
  /** Your own in place of the standard {@link stages} of a step. */
  stages?: Partial<Stages>;
}

/** What {@link sft} takes. */
export interface SftOptions extends RunOptions {
  settings?: SftSettings;
}

/** What {@link evaluate} takes. */
export interface EvaluateOptions {
  /** A Hugging Face model folder, or `ORG/NAME` of one that `npx grpo fetch` got. */
  model: string;
  /** What {@link defineTask} made; its held-out problems are used. */
  task: Task;
  settings?: EvalSettings;
  /** As in {@link RunOptions}. */
  onProgress?(now: StageProgress): void;
  /** Ends the evaluation, which then throws `Abandoned`. */
  signal?: AbortSignal;
}

/** How a run ended, and what it left. */
export interface RunResult extends RunEnd {
  /** The run folder. */
  output: string;
  /** The trained model, a Hugging Face folder: the last checkpoint. Undefined when no step was done. */
  model: string | undefined;
  /** Steps and tokens of the whole run, those before a resumption included. */
  steps: number;
  tokens: number;
}

export const RUN_OPTIONS = [
  'model',
  'task',
  'output',
  'resume',
  'restart',
  'settings',
  'onStep',
  'onEvaluation',
  'onNote',
  'onProgress',
  'signal',
] as const satisfies readonly (keyof TrainOptions)[];

/**
 * Trains a model with GRPO on a task.
 *
 * @example
 * import { defineTask, train, writeTinyModel } from 'grpo';
 *
 * const task = defineTask({
 *   name: 'brief',
 *   rows: ['a', 'b', 'c'],
 *   prompt: (row) => row,
 *   rewards: { brief: (completion) => 1 / (1 + completion.length) },
 * });
 * const { after, model } = await train({
 *   model: await writeTinyModel('models/tiny'),
 *   task,
 *   settings: { train: { steps: 2 }, rollout: { maxNewTokens: 8 } },
 *   onStep: (row) => console.log(row.step, row.reward),
 * });
 * console.log(after?.greedy.reward, model);
 *
 * @throws UsageError for settings that are wrong, UserError and its kind for files, models and rewards
 */
export async function train(options: TrainOptions): Promise<RunResult> {
  await using run = await openRun(options);
  return resultOf(run, await trainGrpo(run, options.stages));
}

/**
 * Fine-tunes a model on the demonstrations of a task, by imitation: `settings.sft` has its steps and learning rate.
 *
 * @example
 * import { defineTask, sft, writeTinyModel } from 'grpo';
 *
 * const task = defineTask({
 *   name: 'doubles',
 *   rows: [1, 2, 3, 4],
 *   prompt: (row) => `${row} + ${row} =`,
 *   demonstration: (row) => ` ${2 * row}`,
 *   rewards: {},
 * });
 * const model = await writeTinyModel('models/tiny');
 * const run = await sft({ model, task, settings: { sft: { steps: 2 }, rollout: { maxNewTokens: 8 } } });
 * console.log(run.steps, run.model);
 */
export async function sft(options: SftOptions): Promise<RunResult> {
  refuseUnknown(nameOf('sft'), options, RUN_OPTIONS);
  await using run = await openConfigured('sft', options);
  return resultOf(run, await trainSft(run));
}

/**
 * Measures a model on the held-out problems of a task: rewards, and accuracy where the task can tell. `audit` of the
 * result has what a second computation came to.
 *
 * @example
 * import { defineTask, evaluate, writeTinyModel } from 'grpo';
 *
 * const task = defineTask({
 *   name: 'doubles',
 *   rows: [1, 2, 3, 4],
 *   prompt: (row) => `${row} + ${row} =`,
 *   rewards: {},
 *   isCorrect: (completion, row) => Number(completion) === 2 * row,
 * });
 * const model = await writeTinyModel('models/tiny');
 * const { greedy } = await evaluate({ model, task, settings: { rollout: { maxNewTokens: 8 } } });
 * console.log(greedy.accuracy, greedy.low, greedy.high);
 *
 * @throws Abandoned when the signal comes; UsageError and UserError as {@link train}
 */
export async function evaluate(options: EvaluateOptions): Promise<AuditedResult> {
  refuseUnknown(nameOf('eval'), options, ['model', 'task', 'settings', 'onProgress', 'signal']);
  const watch = new Watch({ progress: (now) => options.onProgress?.(now) }, options.signal);
  const resolved = withMemory(resolveRun('eval', options));
  const { config } = resolved;
  if (config.threads !== undefined) setThreads(config.threads);
  const sampler = openSampler(resolved, options.task, watch);
  using _ = sampler.model.decoder;
  return await evaluateAudited(sampler, options.task, config, watch);
}

/**
 * Opens the run that {@link train} would train, for a loop of your own. To be disposed: it holds the model, the
 * optimizer and the run folder.
 *
 * @example
 * import { defineTask, GrpoTrainer, grpoStep, openRun, saveModel, writeTinyModel } from 'grpo';
 *
 * const task = defineTask({
 *   name: 'brief',
 *   rows: ['a', 'b', 'c'],
 *   prompt: (row) => row,
 *   rewards: { brief: (completion) => 1 / (1 + completion.length) },
 * });
 * const model = await writeTinyModel('models/tiny');
 * await using run = await openRun({ model, task, settings: { rollout: { maxNewTokens: 8 } } });
 * using trainer = await GrpoTrainer.open(run);
 * const { loss } = await grpoStep(trainer, task.train, 0, 1e-3);
 * console.log(loss);
 * saveModel(run.model, 'models/after-one-step');
 */
export async function openRun(options: TrainOptions): Promise<Run> {
  refuseUnknown(nameOf('train'), options, [...RUN_OPTIONS, 'stages']);
  return openConfigured('train', options);
}

/** @param adapt - changes the configuration that the options come to */
export async function openConfigured(
  verb: Verb,
  options: TrainOptions | SftOptions,
  adapt: (resolved: ResolvedConfig) => ResolvedConfig = (resolved) => resolved,
): Promise<Run> {
  requireAlone(nameOf(verb));
  const { task, resume, restart, signal, onStep, onEvaluation, onProgress, onNote = console.warn } = options;
  if (resume && options.output === undefined)
    throw new UsageError(`${nameOf(verb)} continues the run in output, which is not given`);
  return openConfiguredRun(adapt(resolveRun(verb, options)), {
    task,
    resume,
    restart,
    signal,
    watcher: {
      step: (row) => onStep?.(row),
      evaluated: (result, step) => onEvaluation?.(result, step),
      progress: (now) => onProgress?.(now),
      note: (text) => onNote(text),
    },
  });
}

function resultOf({ folder, progress: { step, tokens } }: Run, end: RunEnd): RunResult {
  const model = latestCheckpoint(folder.checkpoints)?.dir;
  return { ...end, output: folder.path, model, steps: step, tokens };
}
