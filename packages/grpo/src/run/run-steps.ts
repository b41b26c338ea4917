import { emptyCache, memory } from '@grpo/torch';
import type { Finding } from '../doctor/finding.js';
import { findingLine } from '../doctor/finding-line.js';
import { evalCompletionRow } from '../evaluation/eval-completion.js';
import { type EvalResult, evaluate } from '../evaluation/evaluate.js';
import type { MetricsRow } from '../observe/metrics.js';
import { timingsOf } from '../observe/timings.js';
import { Abandoned } from '../progress/watch.js';
import { RewardError, takeJudgeReports, UserCodeGuard } from '../rewards/index.js';
import { memoryNews } from '../rollout/index.js';
import { SinkThread } from '../sinks/sink-thread.js';
import { requireSpace } from './checkpoint-space.js';
import { requireRestored } from './folder/live-state.js';
import type { Run } from './open-run.js';
import { Saver } from './saver.js';

/** How a run ended. */
export interface RunEnd {
  /** Whether `signal` ended it. */
  interrupted: boolean;
  /** The finding for which the doctor ended the run. Before the first step, the folder is removed. */
  stopped?: Finding | undefined;
  /** Evaluation before the first and after the last step; absent where it was not asked for or not reached. */
  before: EvalResult | undefined;
  after: EvalResult | undefined;
}

/** What is known of a step before it is done. */
export interface StepTurn {
  /** Whether the run was begun or resumed with it. */
  isFirst: boolean;
  /** Whether it is audited since a checkpoint follows it, or may follow. */
  isSaved: boolean;
}

/** What a step tells: its metrics, and the seconds of each of its stages. */
export interface StepReport {
  metrics: MetricsRow;
  seconds: Readonly<Record<string, number>>;
  /** Seconds of each reward function, by its name. */
  rewardSeconds?: Readonly<Record<string, number>> | undefined;
  /** What is so wrong that the run must end; it is saved. */
  stop?: Finding | undefined;
  /** An error in examining the step, which is whole: it is written and saved before the run ends with the error. */
  failed?: { error: unknown } | undefined;
}

/** Share of a run's time that audits of the steps before checkpoints by the clock may take: after long sequences one takes as long as a step. */
const MOST_AUDITED = 0.1;

/** Does one step, counted from 0; it may throw Abandoned while nothing but `progress` has changed. */
type StepFunction = (index: number, turn: StepTurn) => Promise<StepReport>;

/** Examines an evaluation that is written down; what it returns is so wrong that the run must end. */
export type EvaluationAudit = (result: EvalResult) => Promise<Finding | undefined>;

/**
 * The frame of every run: evaluations, steps, checkpoints, and an end that loses nothing. Where a checkpoint and an
 * evaluation are due after the same step, the checkpoint comes first; an evaluation that was cut short is made up for
 * when the run is resumed. An evaluation that reaches `eval.stopAt` ends the run. After an error the last whole state is
 * saved.
 *
 * When the run's signal comes, an evaluation, or a step before its first update, is abandoned: nothing of it is
 * written, and a resumed run does it again. A step that has changed the weights is finished. Then the run is saved.
 *
 * The sinks of the run follow from here on. At its end they get some time to take what is left.
 */
export async function runSteps(
  run: Run,
  steps: number,
  step: StepFunction,
  audit?: EvaluationAudit,
): Promise<RunEnd> {
  const { config, progress, folder, watcher, signal } = run;
  const start = { folder: folder.path, sinks: config.sinks, done: progress.step };
  await using sinks = await SinkThread.start(start, watcher);
  try {
    const end = await doSteps(run, steps, step, audit);
    const { stopped, interrupted } = end;
    const how = stopped ? 'stopped' : interrupted ? 'interrupted' : 'done';
    const reason = stopped && findingLine(stopped);
    await sinks?.end({ how, steps: progress.step, reason }, signal);
    return end;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    try {
      folder.crashed(progress.step, reason);
    } catch (problem) {
      watcher.note?.(`The error could not be written down: ${(problem as Error).message}`);
    }
    await sinks?.end({ how: 'crashed', steps: progress.step, reason }, signal);
    throw error;
  }
}

async function doSteps(
  run: Run,
  steps: number,
  step: StepFunction,
  audit?: EvaluationAudit,
): Promise<RunEnd> {
  const { config, progress, folder, watcher, signal } = run;
  requireRestored(run);
  using saver = new Saver(run);
  using guard = new UserCodeGuard((text) => watcher.note?.(text));
  let before: EvalResult | undefined;
  let after: EvalResult | undefined;
  let stopped: Finding | undefined;
  const begun = progress.step;
  const startedAt = performance.now();
  let audited = 0;
  let isSaved = false;
  const isLast = () => progress.step >= steps || reachedReward(run) !== undefined;
  const isInterrupted = () => signal?.aborted === true || stopped !== undefined;
  const awaitsEvaluation = () => {
    const { step } = progress;
    const isDue = step === 0 ? config.eval.before : due(step, config.eval.every) || isLast();
    return isDue && !folder.isEvaluated(step);
  };
  try {
    if (!isLast()) requireSpace(run);
    for (;;) {
      if (!stopped && (isLast() || isSaved)) saver.save();
      if (awaitsEvaluation() && !isInterrupted()) {
        const which = progress.step === 0 ? 'before the first step' : `after step ${progress.step}`;
        const result = await unlessAbandoned(run, `The evaluation ${which}`, () => evaluateRun(run));
        stopped = result && (await audit?.(result));
        await guard.check();
        if (!result) break;
        if (progress.step === 0) before = result;
        else if (isLast()) after = result;
        const reached = reachedReward(run);
        if (reached !== undefined)
          watcher.note?.(`The evaluated reward, ${reached.toFixed(3)}, reaches eval.stopAt: the run ends.`);
      }
      if (isLast() || isInterrupted()) break;
      const next = progress.step + 1;
      // Decided before the step, which is audited where it is saved.
      const asks = next >= steps ? 'steps' : saver.dueAfter(next);
      isSaved = asks !== undefined;
      const mayEnd = config.eval.stopAt !== undefined && due(next, config.eval.every);
      const start = performance.now();
      const isCheap = audited <= MOST_AUDITED * ((start - startedAt) / 1000);
      const turn = {
        isFirst: progress.step === begun,
        isSaved: asks === 'steps' || mayEnd || (asks === 'clock' && isCheap),
      };
      const report = await unlessAbandoned(run, `Step ${next}`, () => step(progress.step, turn));
      if (!report) break;
      const { metrics, seconds, rewardSeconds, stop, failed } = report;
      stopped = stop;
      audited += seconds.audit ?? 0;
      const took = (performance.now() - start) / 1000;
      const judges = takeJudgeReports(run.task.rewards);
      for (const text of judges.alarms) watcher.note?.(text);
      const timings = timingsOf(metrics, took, {
        stages: seconds,
        rewards: rewardSeconds,
        judges: judges.numbers,
      });
      // All scopes of the step are closed: a count that grows is a leak.
      const { tensors, bytes } = memory();
      const row = { ...metrics, live_tensors: tensors, live_bytes: bytes };
      for (const text of memoryNews(run.model.decoder)) watcher.note?.(text);
      folder.metrics(row);
      folder.timings(timings);
      progress.step++;
      saver.stepIsDone();
      watcher.step?.(row, timings);
      if (failed) throw failed.error;
      await guard.check();
    }
    if (stopped) saver.saveAfterError();
    else {
      saver.save();
      saver.readBack();
    }
    return { interrupted: !stopped && (!isLast() || awaitsEvaluation()), stopped, before, after };
  } catch (error) {
    saver.saveAfterError();
    throw error;
  }
}

/** The reward of the evaluation after the last step, if it ends the run. */
function reachedReward({ config, folder, progress }: Run): number | undefined {
  const { stopAt } = config.eval;
  // Without one no reward ends it, be it infinite.
  if (stopAt === undefined) return undefined;
  const row = folder.evaluationAfter(progress.step) as { greedy?: { reward: number | null } } | undefined;
  const reward = row?.greedy?.reward ?? Number.NEGATIVE_INFINITY;
  return reward >= stopAt ? reward : undefined;
}

/** Evaluates the run's model on the held-out problems and writes it down. */
async function evaluateRun({
  model,
  task,
  config,
  sampling,
  sample,
  folder,
  progress,
  watcher,
  watch,
}: Run): Promise<EvalResult> {
  const result = await evaluate(model, task, { ...config.eval, sampling, sample }, config.seed, watch);
  // An evaluation leaves holes in the heap that training's tensors do not fit into.
  emptyCache();
  // Evaluation requests are not part of any step's report.
  for (const text of takeJudgeReports(task.rewards).alarms) watcher.note?.(text);
  const { examples: _, completions, ...scores } = result;
  const { step } = progress;
  folder.evaluation(
    { step, ...scores },
    completions.map((one) => ({ step, ...evalCompletionRow(one) })),
  );
  watcher.evaluated?.(result, progress.step);
  if (config.onRewardError === 'stop' && result.failures.length > 0) throw new RewardError(result.failures);
  return result;
}

/** Does what the signal may abandon. */
export async function unlessAbandoned<T>(
  { watcher }: Run,
  what: string,
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Abandoned)) throw error;
    watcher.note?.(`${what} is abandoned: a resumed run does it again.`);
    return undefined;
  }
}

const due = (step: number, every: number) => every > 0 && step % every === 0;
