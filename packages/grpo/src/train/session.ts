import { join } from 'node:path';
import { AdamW, setThreads, torchVersion } from '@grpo/torch';
import { z } from 'zod';
import { configRecord, type ResolvedConfig } from '../config/index.js';
import type { Config } from '../config/schema.js';
import { packageVersion } from '../config/version.js';
import type { Model } from '../models/index.js';
import type { SamplingOptions } from '../rollout/index.js';
import { type LoadedTask, loadTask } from '../tasks/index.js';
import { latestCheckpoint, readTrainerState, restoreOptimizer, saveCheckpoint } from './checkpoint.js';
import { type EvalResult, evaluate } from './evaluate.js';
import type { MetricsRow } from './metrics.js';
import { makeArithmeticModel, openModel } from './model-source.js';
import { RunFolder } from './run-folder.js';

/** What a run tells whoever watches it. */
export interface Watcher {
  /** A step is done; the row is the one of `metrics.jsonl`. */
  step?(row: MetricsRow): void;
  evaluated?(result: EvalResult, step: number): void;
  note?(text: string): void;
}

/** What a run carries from one checkpoint to the next, beside weights and optimizer: steps done and tokens seen. */
const progressSchema = z.object({ step: z.number(), tokens: z.number() });

export type Progress = z.infer<typeof progressSchema>;

/** An open run: its model, task and optimizer, and the folder that it leaves. */
export interface Session extends AsyncDisposable {
  config: Config;
  model: Model;
  task: LoadedTask;
  optimizer: AdamW;
  sampling: SamplingOptions;
  folder: RunFolder;
  progress: Progress;
  watcher: Watcher;
  /** Ends the run after the step in progress. */
  signal: AbortSignal | undefined;
}

/**
 * Opens a new run, or goes on with the one in the configuration's output folder from its last whole checkpoint.
 *
 * @throws what loading the task and the model throws; UserError for an output folder that holds a run, or with `resume`
 * holds none
 */
export async function openSession(
  resolved: ResolvedConfig,
  options: { resume?: boolean; watcher?: Watcher; signal?: AbortSignal } = {},
): Promise<Session> {
  const { config } = resolved;
  if (config.threads !== undefined) setThreads(config.threads);
  const cleanups: (() => void)[] = [];
  const close = () => {
    for (const cleanup of cleanups.splice(0).reverse()) cleanup();
  };
  const own = (model: Model) => {
    cleanups.push(() => model.decoder.dispose());
    return model;
  };
  try {
    const task = await loadTask(config);
    cleanups.push(() => task[Symbol.dispose]());
    const checkpoint = options.resume ? latestCheckpoint(join(config.output, 'checkpoints')) : undefined;
    // A configured model is loaded before the folder is made: one that cannot be leaves no run behind.
    const configured = checkpoint || config.model === undefined ? undefined : own(openModel(config));
    const versions = { grpo: packageVersion(), node: process.versions.node, libtorch: torchVersion() };
    const record = configRecord(resolved, versions);
    const folder = options.resume
      ? await RunFolder.resume(config.output, checkpoint?.step ?? -1, record)
      : RunFolder.create(config.output, record);
    cleanups.push(() => folder.close());
    if (!checkpoint && !configured) await makeArithmeticModel(config);
    const model = configured ?? own(openModel(config, checkpoint?.dir));
    for (const parameter of model.decoder.parameters.values()) parameter.requiresGrad = true;
    const optimizer = new AdamW(model.decoder.parameters, config.optimizer);
    cleanups.push(() => optimizer.dispose());
    if (checkpoint) restoreOptimizer(checkpoint.dir, optimizer);
    return {
      config,
      model,
      task,
      optimizer,
      sampling: samplingOf(config, task.stop),
      folder,
      progress: checkpoint ? readTrainerState(checkpoint.dir, progressSchema) : { step: 0, tokens: 0 },
      watcher: options.watcher ?? {},
      signal: options.signal,
      async [Symbol.asyncDispose]() {
        close();
      },
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** How completions are sampled; `stop` are the task's stop strings. */
export function samplingOf(
  { rollout: { prompts: _, group: __, ...options } }: Config,
  stop: readonly string[],
): SamplingOptions {
  return { ...options, stop };
}

/** Saves the run as it stands after its last step. */
export function checkpointSession({ folder, model, optimizer, progress, config }: Session): void {
  folder.flush();
  saveCheckpoint(
    folder.checkpoints,
    { step: progress.step, model, optimizer, state: progress },
    config.checkpoint.keep,
  );
}

/** Evaluates the run's model on the held-out problems and writes it down. */
export async function evaluateSession({
  model,
  task,
  config,
  sampling,
  folder,
  progress,
  watcher,
}: Session): Promise<EvalResult> {
  const { limit, samples, temperature } = config.eval;
  const result = await evaluate(model, task, { limit, samples, temperature, sampling }, config.seed);
  const { examples: _, ...scores } = result;
  folder.evaluation({ step: progress.step, ...scores });
  watcher.evaluated?.(result, progress.step);
  return result;
}

/** How a run ended. */
export interface RunEnd {
  interrupted: boolean;
  /** Evaluation before the first and after the last step; absent where it was not asked for or not reached. */
  before: EvalResult | undefined;
  after: EvalResult | undefined;
}

/**
 * The frame of every run: evaluations, steps, checkpoints, and an end that loses nothing.
 *
 * @param step - does one step and returns its metrics row
 */
export async function runSteps(
  session: Session,
  steps: number,
  step: (index: number) => Promise<MetricsRow>,
): Promise<RunEnd> {
  const { config, progress, folder, watcher, signal } = session;
  let before: EvalResult | undefined;
  let after: EvalResult | undefined;
  let saved = progress.step;
  if (progress.step === 0 && config.eval.before) before = await evaluateSession(session);
  while (progress.step < steps && !signal?.aborted) {
    const row = await step(progress.step);
    progress.step++;
    folder.metrics(row);
    watcher.step?.(row);
    const last = progress.step === steps;
    if (due(progress.step, config.eval.every) || last) {
      const result = await evaluateSession(session);
      if (last) after = result;
    }
    if (due(progress.step, config.checkpoint.every) || last) {
      checkpointSession(session);
      saved = progress.step;
    }
  }
  const interrupted = progress.step < steps;
  if (interrupted && progress.step > saved) checkpointSession(session);
  return { interrupted, before, after };
}

const due = (step: number, every: number) => every > 0 && step % every === 0;
