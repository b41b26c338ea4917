import { join } from 'node:path';
import { AdamW, setThreads, type Tensor } from '@grpo/torch';
import { z } from 'zod';
import {
  changedCircumstances,
  configRecord,
  type ResolvedConfig,
  readRecord,
  requireModelKind,
  requireSameRun,
  UserError,
} from '../config/index.js';
import { FileError } from '../errors/file-error.js';
import { FormatError } from '../errors/format-error.js';
import type { EvalResult } from '../evaluation/evaluate.js';
import { memoryLine } from '../memory/memory-lines.js';
import type { MetricsRow } from '../observe/metrics.js';
import type { TimingsRow } from '../observe/timings.js';
import { shareOfMachine } from '../processes/share.js';
import type { StageProgress } from '../progress/watch.js';
import { RemoteSampler, TeacherServer } from '../remote/index.js';
import { requireSinks } from '../sinks/open-sink.js';
import type { ReplayStore } from '../step/replay-store.js';
import { stages } from '../step/stages.js';
import type { CarriedCompletion, Trainer } from '../step/trainer.js';
import { asLoaded, problemsFingerprint } from '../tasks/index.js';
import type { Task } from '../tasks/task.js';
import { circumstances } from './circumstances.js';
import { resolveDevice } from './device.js';
import {
  type CheckpointFolder,
  dropSurplus,
  latestCheckpoint,
  readTrainerState,
  restoreOptimizer,
} from './folder/checkpoint.js';
import { type Progress, progressSchema } from './folder/progress.js';
import { RunFolder } from './folder/run-folder.js';
import { withMemory } from './memory-plan.js';
import { makesDiffusion, makeTinyModel, withPinnedModels } from './model-source.js';
import { openTask } from './open-task.js';
import { loadLoss } from './own-loss.js';
import { type RunPeers, reasonOf, requireShareable, watchWith } from './ranks/run-peers.js';
import { requireRowsFit } from './rows-fit.js';
import { openPlanned, sizesOf, type Workplace } from './workplace.js';

/** What a run tells whoever watches it. */
export interface Watcher {
  /** A step is done; the rows are those of `metrics.jsonl` and `timings.jsonl`. */
  step?(metrics: MetricsRow, timings: TimingsRow): void;
  evaluated?(result: EvalResult, step: number): void;
  /** How far the stage in progress is: many times per second. */
  progress?(now: StageProgress): void;
  note?(text: string): void;
  /** A checkpoint was written. */
  saved?(checkpoint: CheckpointFolder): void;
}

/** An open run: its model, task and optimizer, and the folder that it leaves. */
export interface Run extends Workplace, AsyncDisposable {
  /** What the run will take of memory, and why, in a line. */
  needs: string;
  /** Fingerprints of the files that it reads, by path. */
  files: Readonly<Record<string, string>>;
  folder: RunFolder;
  /** Part of each checkpoint, where the trainer has it: weights of a reference that moves, by name; groups to replay; completions. */
  trainerState: {
    /** Its control of the objective's weights, and its checksums of the model's. */
    live?: Pick<Trainer, 'control' | 'checksums'>;
    reference?: ReadonlyMap<string, Tensor>;
    replay?: ReplayStore;
    /** Scores completions of the last step with the weights that it left. */
    carried?: () => CarriedCompletion[];
  };
  watcher: Watcher;
  /** Ends the run: see `runSteps`. */
  signal: AbortSignal | undefined;
  /** The problems that it evaluates on are some that it trains on, by intent. */
  evaluatesTrained?: boolean;
}

/** How a run is opened. */
export interface OpenOptions {
  /** A task in code, in place of the configured one. */
  task?: Task | undefined;
  /** Go on with the run in the output folder. */
  resume?: boolean | undefined;
  /** With `resume`: start over where the run has no checkpoint, and throw away its rows. */
  restart?: boolean | undefined;
  watcher?: Watcher;
  signal?: AbortSignal | undefined;
  /** The other processes of the run, which follow this one. */
  peers?: RunPeers | undefined;
}

/**
 * Opens a new run, or goes on with the one in the configuration's output folder from its last whole checkpoint.
 *
 * @throws what loading the task and the model throws; UserError for an output folder that holds a run, or with `resume`
 * holds none
 */
export async function openRun(given: ResolvedConfig, options: OpenOptions = {}): Promise<Run> {
  const resolved = withMemory(withPinnedModels(given));
  const { shared, note } = shareOfMachine(resolved);
  const { config, provenance } = shared;
  const { watcher = {}, signal, peers } = options;
  if (note !== undefined) watcher.note?.(note);
  const watch = watchWith(peers, watcher, signal);
  if (config.threads !== undefined) setThreads(config.threads);
  const checkpoint = options.resume ? latestCheckpoint(join(config.output, 'checkpoints')) : undefined;
  const cleanups: (() => void)[] = [];
  const close = () => {
    for (const cleanup of cleanups.splice(0).reverse()) cleanup();
  };
  const open = (task: Task, checkpoint?: string) => {
    const opened = openPlanned(shared, task, { checkpoint, watch });
    cleanups.push(() => opened.model.decoder.dispose());
    return opened;
  };
  try {
    if (peers) requireShareable(config);
    const task = options.task ? asLoaded(options.task) : await openTask(config, watch.finishing());
    cleanups.push(() => task[Symbol.dispose]());
    const { module } = config.objective;
    const loss = module === undefined ? undefined : await loadLoss(module);
    const made = circumstances(config, resolveDevice(config.device), config.model);
    requireSinks(config.sinks);
    made.engine.processes = peers?.size ?? 1;
    if (options.task) made.files[`the task ${task.name}`] = problemsFingerprint(task);
    const record = configRecord(resolved, made);
    if (options.resume) requireSameRun(config.output, readRecord(config.output), record);
    // A configured model is loaded before the folder is made: one that cannot be leaves no run behind.
    const configured = checkpoint || config.model === undefined ? undefined : open(task);
    if (config.model === undefined) requireModelKind(shared, makesDiffusion(config));
    const { maxNewTokens } = config.rollout;
    const room = configured?.model.decoder.config.maxPositions ?? Number.POSITIVE_INFINITY;
    if (maxNewTokens >= room)
      watcher.note?.(
        `rollout.maxNewTokens=${maxNewTokens}: the context of the model holds ${room} tokens, prompt and completion together. Completions end there, as truncated ones.`,
      );
    if (configured) requireRowsFit(configured.model, task, shared, watch.finishing());
    const folder = options.resume
      ? await RunFolder.resume(config.output, checkpoint?.step ?? 0, record, options.restart)
      : RunFolder.create(config.output, record);
    cleanups.push(() => folder.close());
    if (checkpoint) dropSurplus(folder.checkpoints, checkpoint, config.checkpoint.keep);
    const changes = folder.previous ? changedCircumstances(folder.previous, record) : [];
    if (changes.length > 0) watcher.note?.(describeChanges(changes, checkpoint !== undefined));
    if (options.resume && !checkpoint) {
      watcher.note?.(`${config.output} has no checkpoint: the run starts over.`);
      if (changes.length > 0) await folder.dropEvaluations();
    }
    if (!checkpoint && !configured) await makeTinyModel(config);
    const { model, plan } = configured ?? open(task, checkpoint?.dir);
    if (!configured) requireRowsFit(model, task, shared, watch.finishing());
    const budget = { bytes: config.memory as number, source: provenance.memory! };
    const optimizer = new AdamW(model.decoder.trainable, config.optimizer);
    cleanups.push(() => optimizer.dispose());
    if (checkpoint) restoreOptimizer(checkpoint.dir, optimizer, watch);
    const progress: Progress = checkpoint
      ? readTrainerState(checkpoint.dir, progressSchema.extend({ step: z.literal(checkpoint.step) }))
      : { step: 0, tokens: 0 };
    const note = (text: string) => watcher.note?.(text);
    const { engine } = config.rollout;
    const remote = engine === 'own' ? undefined : new RemoteSampler({ config, model, progress, note });
    return {
      ...sizesOf(config, plan, task),
      needs: memoryLine(plan, budget),
      files: made.files,
      model,
      task,
      loss,
      optimizer,
      sample: remote?.sample ?? stages.sample,
      servers: remote,
      teacherServer: config.teacher.engine === 'own' ? undefined : new TeacherServer(config, model, note),
      folder,
      progress,
      trainerState: {},
      watcher,
      signal,
      watch,
      peers,
      async [Symbol.asyncDispose]() {
        await remote?.[Symbol.asyncDispose]();
        close();
      },
    };
  } catch (error) {
    close();
    peers?.fail(reasonOf(error));
    throw checkpoint ? orDelete(error, checkpoint) : error;
  }
}

/** A damaged or missing file of a checkpoint with what to do about it; any other error as it is. */
function orDelete(error: unknown, { dir }: CheckpointFolder): unknown {
  const isDamaged = error instanceof FormatError && error.file.startsWith(dir);
  const isMissing = error instanceof FileError && error.code === 'ENOENT' && error.path.startsWith(dir);
  if (!isDamaged && !isMissing) return error;
  const hint = `Delete ${dir} to go on from the checkpoint before it, or from the start if there is none.`;
  return new UserError(error.message, { hint, cause: error });
}

/** @param goesOn - whether steps are kept that were made before the changes */
const describeChanges = (changes: readonly string[], goesOn: boolean) =>
  `Changed since this run was last started: ${changes.join('; ')}.${
    goesOn ? ' From here on, results are not bit for bit those of a run without the stop.' : ''
  }`;
