import { AdamW, setThreads } from '@grpo/torch';
import type { ResolvedConfig } from '../../config/index.js';
import type { Config } from '../../config/schema.js';
import { UserError } from '../../errors/user-error.js';
import { shareOfMachine } from '../../processes/share.js';
import { Abandoned, type Observer, type Watch } from '../../progress/watch.js';
import { takeJudgeReports, UserCodeGuard } from '../../rewards/index.js';
import { memoryNews } from '../../rollout/index.js';
import { grpoStep } from '../../step/grpo-step.js';
import { together } from '../../step/peers/together.js';
import { type Stages, stages } from '../../step/stages.js';
import { asLoaded, problemsFingerprint } from '../../tasks/index.js';
import type { Task } from '../../tasks/task.js';
import { circumstances } from '../circumstances.js';
import { resolveDevice } from '../device.js';
import type { Progress } from '../folder/progress.js';
import { GrpoTrainer } from '../grpo-trainer.js';
import { withMemory } from '../memory-plan.js';
import { openTask } from '../open-task.js';
import { loadLoss } from '../own-loss.js';
import { learningRateAt } from '../schedule.js';
import { openPlanned, sizesOf, type Workplace } from '../workplace.js';
import { type RunPeers, reasonOf, watchWith } from './run-peers.js';
import { shareState } from './shared-state.js';
import { type Opening, takeTurn } from './turns.js';

/** How a process follows. */
export interface FollowOptions {
  /** A task in code, in place of the configured one. */
  task?: Task | undefined;
  /** Your own stages in place of the standard ones. */
  stages?: Partial<Stages>;
  /** Hears of this process's work. Its notes go to rank 0. */
  observer?: Pick<Observer, 'progress'>;
  /** Ends the run: all of its processes. */
  signal?: AbortSignal | undefined;
}

/**
 * Takes the steps of a run that rank 0 leads, with a share of their work, until it ends. Rank 0 has the folder of the run; its
 * settings hold here too, but for the device, threads and memory of this process.
 *
 * @param given - the settings of this process
 * @returns whether a process was interrupted
 * @throws what ends the run; the other processes end with it
 */
export async function follow(
  given: ResolvedConfig,
  peers: RunPeers,
  options: FollowOptions = {},
): Promise<{ interrupted: boolean }> {
  const { observer = {}, signal } = options;
  const notes: string[] = [];
  const note = (text: string) => void notes.push(text);
  const watch = watchWith(peers, { ...observer, note }, signal);
  const cleanups: (() => void)[] = [];
  try {
    const [opening] = await together<Opening | undefined>(peers, () => undefined);
    let trainer: GrpoTrainer | undefined;
    await together(peers, async () => {
      const work = await openWorkplace(given, opening!, { ...options, peers, watch, cleanups });
      trainer = GrpoTrainer.follow(work, options.stages, opening!.replay);
      cleanups.push(() => trainer![Symbol.dispose]());
    });
    await shareState(peers, trainer!);
    return await takeSteps(trainer!, opening!.progress, { peers, notes, signal });
  } catch (error) {
    peers.fail(reasonOf(error));
    throw error;
  } finally {
    for (const cleanup of cleanups.reverse()) cleanup();
  }
}

/** Opens what the steps need; `cleanups` takes what closes it. */
async function openWorkplace(
  given: ResolvedConfig,
  { config: shared, files, progress }: Opening,
  options: FollowOptions & { peers: RunPeers; watch: Watch; cleanups: (() => void)[] },
): Promise<Workplace> {
  const { peers, watch, cleanups } = options;
  const { device, threads, memory } = shareOfMachine(withMemory(given)).shared.config;
  const config = { ...shared, device, threads, memory };
  if (threads !== undefined) setThreads(threads);
  const task = options.task ? asLoaded(options.task) : await openTask(config, watch.finishing());
  cleanups.push(() => task[Symbol.dispose]());
  requireSameFiles(files, filesOf(config, options.task), peers.rank);
  const { module } = config.objective;
  const loss = module === undefined ? undefined : await loadLoss(module);
  const { model, plan } = openPlanned({ ...given, config }, task, { watch });
  cleanups.push(() => model.decoder.dispose());
  const optimizer = new AdamW(model.decoder.trainable, config.optimizer);
  cleanups.push(() => optimizer.dispose());
  const { sample } = stages;
  return { ...sizesOf(config, plan, task), model, task, loss, optimizer, sample, progress, watch, peers };
}

/** Fingerprints of the files that this process reads. */
function filesOf(config: Config, task: Task | undefined): Readonly<Record<string, string>> {
  const { files } = circumstances(config, resolveDevice(config.device), config.model);
  return task ? { ...files, [`the task ${task.name}`]: problemsFingerprint(task) } : files;
}

/** @throws UserError for a file that is another one than that of rank 0 */
function requireSameFiles(
  leading: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>>,
  rank: number,
): void {
  const other = Object.keys(leading).find((path) => path in own && own[path] !== leading[path]);
  if (other === undefined) return;
  throw new UserError(`rank ${rank} has another ${other} than rank 0`, {
    hint: 'All processes need the same files: copy those of rank 0, or put them where all machines see them.',
  });
}

/** Takes the steps that rank 0 calls to. */
async function takeSteps(
  trainer: GrpoTrainer,
  progress: Progress,
  { peers, notes, signal }: { peers: RunPeers; notes: string[]; signal: AbortSignal | undefined },
): Promise<{ interrupted: boolean }> {
  const { config, task, model } = trainer;
  using guard = new UserCodeGuard((text) => notes.push(text));
  for (;;) {
    const isInterrupted = signal?.aborted === true;
    const turn = await takeTurn(peers, { isInterrupted, notes: notes.splice(0) });
    if (turn.next === 'end') return { interrupted: turn.isInterrupted };
    // Rank 0 ends the run then.
    if (turn.isInterrupted) continue;
    const { step } = progress;
    const rate = learningRateAt(config.optimizer, step, config.train.steps);
    await grpoStep(trainer, trainer.nextProblems(), step, rate).catch((error: unknown) => {
      if (!(error instanceof Abandoned)) throw error;
    });
    progress.step++;
    notes.push(...takeJudgeReports(task.rewards).alarms, ...memoryNews(model.decoder));
    await guard.check();
  }
}
