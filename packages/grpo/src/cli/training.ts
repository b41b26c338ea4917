import { takeSignal, watchSignals } from '@grpo/torch';
import { type Layer, type ResolvedConfig, recordLayer, resolveConfig, UsageError } from '../config/index.js';
import type { Finding } from '../doctor/finding.js';
import { counted } from '../errors/counted.js';
import type { MetricsRow } from '../observe/metrics.js';
import type { TimingsRow } from '../observe/timings.js';
import { joinPeers } from '../processes/join-peers.js';
import { requireAlone } from '../processes/rendezvous.js';
import { Abandoned } from '../progress/watch.js';
import { describeDevice } from '../run/device.js';
import { latestCheckpoint } from '../run/folder/checkpoint.js';
import { holdsRun, preflightIn } from '../run/folder/run-folder.js';
import { openRun, type Run, type Watcher } from '../run/open-run.js';
import type { RunEnd } from '../run/run-steps.js';
import { type CommandArguments, EXIT } from './command.js';
import { fewProblems, formatEvaluation } from './evaluation.js';
import { CAUSES, endWithLauncher, interruptible, interruptRun, SIGNALS } from './interrupt.js';
import { createReporter, type Reporter, type StepRow } from './live.js';
import { type BesideRun, serveBesideRun } from './studio/beside-run.js';
import { readPage } from './studio/page.js';

/** A command that trains. */
type TrainingCommand = 'train' | 'sft' | 'expert';

/** The configuration of a command that trains: a new run's, or that of the run to resume, with the new settings. */
export function trainingConfig(
  command: TrainingCommand,
  { flags, settings }: CommandArguments,
  flagsLayer?: Layer,
): ResolvedConfig {
  const resume = flags.resume as string | undefined;
  if (flags.restart && resume === undefined)
    throw new UsageError('--restart goes with --resume: a new run starts by itself');
  const layers = resume === undefined ? [] : [recordLayer(resume)];
  const file = flags.config as string | undefined;
  return resolveConfig({ command, layers, file, flags: flagsLayer, settings });
}

/**
 * Runs a training command: opens the run, trains, reports, and answers interrupts.
 *
 * @returns the exit code
 */
export async function runTraining(
  args: CommandArguments,
  resolved: ResolvedConfig,
  {
    command,
    steps,
    train,
    notes = [],
    saved,
  }: {
    command: TrainingCommand;
    steps: number;
    train: (run: Run) => Promise<RunEnd>;
    /** Notes to print before training begins. */
    notes?: readonly string[];
    saved?: Watcher['saved'];
  },
): Promise<number> {
  if (command !== 'train') requireAlone(`grpo ${command}`);
  const reporter = createReporter({ json: args.flags.json === true });
  using interrupt = interruptible(reporter.note, 'stopping and saving');
  endWithLauncher();
  const page = args.flags.studio ? readPage() : undefined;
  let beside: BesideRun | undefined;
  try {
    const device = describeDevice(resolved.config.device, resolved.provenance.device!);
    await using peers =
      command === 'train' ? await joinPeers(resolved.config, reporter.note, interrupt.signal) : undefined;
    await using run = await openRun(resolved, {
      resume: args.flags.resume !== undefined,
      restart: args.flags.restart === true,
      watcher: { ...watcherOf(reporter, steps, resolved.config.rollout.prompts), ...(saved && { saved }) },
      signal: interrupt.signal,
      peers,
    });
    reporter.note(device);
    reporter.note(run.needs);
    for (const text of notes) reporter.note(text);
    const { output } = run.config;
    if (page) beside = await serveBesideRun(page, output, 'run', reporter.note);
    if (run.progress.step >= steps && steps > 0)
      reporter.note(`All ${steps} steps of ${output} are done already; a larger train.steps adds more.`);
    else if (run.progress.step > 0) reporter.note(`Going on with ${output} after step ${run.progress.step}.`);
    const end = await train(run).catch((error: unknown) => {
      const last = latestCheckpoint(run.folder.checkpoints);
      const goOn = resumeCommand(command, run);
      if (last) reporter.note(`Saved up to step ${last.step}. To go on, once that is mended: ${goOn}`);
      else if (holdsRun(output)) reporter.note(`No step was saved. To start over: ${goOn} --restart`);
      throw error;
    });
    reporter.done(summarize(command, run, end));
    if (end.stopped) return EXIT.finding;
    // Another process has heard the signal, where this one has not.
    return end.interrupted ? interrupt.exitCode || CAUSES.SIGTERM : 0;
  } catch (error) {
    // The other processes had not come yet.
    if (error instanceof Abandoned) return interrupt.exitCode;
    throw error;
  } finally {
    reporter.close();
    // Once the run's folder is closed, so that the page sees that it is.
    await beside?.end();
  }
}

/** Listens for signals; the function hears one that came while Node's event loop did not have its turn. */
export function hearSignals(): () => void {
  watchSignals(SIGNALS);
  return () => {
    const arrived = takeSignal();
    if (arrived) interruptRun(arrived);
  };
}

/**
 * Passes a run's events on to a reporter. A report of progress is also the moment in which a signal is heard.
 *
 * @param groups - in each step of GRPO
 */
export function watcherOf(reporter: Reporter, steps: number, groups: number): Watcher {
  let first: { step: number; time: number } | undefined;
  let warned = false;
  const hear = hearSignals();
  return {
    step(row, timings) {
      first ??= { step: row.step - 1, time: performance.now() - 1000 * timings.step_time };
      const perStep = (performance.now() - first.time) / 1000 / (row.step - first.step);
      reporter.step({
        ...stepRow(row, { steps, groups }),
        tokensPerSecond: timings.tokens_per_second,
        secondsLeft: perStep * (steps - row.step),
        time: timeOf(timings, row.step > first.step + 1),
      });
    },
    evaluated(result, step) {
      reporter.note(formatEvaluation(step === 0 ? 'before' : `after step ${step}`, result));
      const warning = warned ? undefined : fewProblems(result);
      if (warning !== undefined) reporter.note(warning);
      warned = true;
    },
    progress(now) {
      hear();
      reporter.progress(now);
    },
    note: (text) => reporter.note(text),
  };
}

function stepRow(row: MetricsRow, { steps, groups }: { steps: number; groups: number }) {
  // Of groups that are sampled again only those count that nothing replaced.
  const flat = row.groups_flat ?? Math.round(row.frac_reward_zero_std! * groups);
  return {
    step: row.step,
    steps,
    reward: row.reward,
    rewardStd: row.reward_std,
    groups: Number.isFinite(flat) ? { all: groups, differing: groups - flat } : undefined,
    length: row['completions/mean_length']!,
    clippedRatio: row['completions/clipped_ratio'],
    kept: row.kept,
    loss: row.loss,
    gradNorm: row.grad_norm,
    kl: row.kl,
  };
}

/** A stage that takes this share of a step, and a second, is slow. */
const SLOW = { share: 0.5, seconds: 1 };

/** What a step does only now and then, to check itself. */
const CHECKS = ['seconds/audit', 'seconds/canaries', 'seconds/probe'] as const;

/**
 * The slowest stage of a step. If it is the scoring, the slowest reward function is at fault.
 *
 * @param isWarm - whether a step came before: the first one loads and compiles
 */
function timeOf(timings: TimingsRow, isWarm: boolean): StepRow['time'] {
  const checks = CHECKS.reduce((sum, name) => sum + (timings[name] ?? 0), 0);
  const seconds = timings.step_time - checks;
  const slowest = slowestOf(timings, 'seconds/');
  if (!slowest) return undefined;
  const share = slowest.seconds / seconds;
  const isSlow = isWarm && share >= SLOW.share && slowest.seconds >= SLOW.seconds;
  const reward = slowest.name === 'score' && isSlow ? slowestOf(timings, 'reward_seconds/') : undefined;
  const fault = reward && `the reward ${reward.name}, not the model`;
  return { seconds, checks, stage: slowest.name, share, ...(fault !== undefined && { fault }) };
}

/** The largest of the timings with a prefix, checks left out. */
function slowestOf(timings: TimingsRow, prefix: string): { name: string; seconds: number } | undefined {
  const isCheck = (name: string) => (CHECKS as readonly string[]).includes(name);
  const own = Object.entries(timings).filter(([name]) => name.startsWith(prefix) && !isCheck(name));
  const [name, seconds] = own.reduce((a, b) => (b[1] > a[1] ? b : a), own[0] ?? ['', 0]);
  return name === '' ? undefined : { name: name.slice(prefix.length), seconds };
}

export const describeStop = ({ code }: Finding, output: string) =>
  holdsRun(output)
    ? `The doctor stopped it: ${code}. For all that it knows: npx grpo doctor ${output}`
    : `The preflight stopped it: ${code}. For all that it knows: npx grpo doctor ${preflightIn(output)}`;

function resumeCommand(command: string, { folder, peers }: Run): string {
  // Other launchers have a command line of their own.
  const processes = peers && process.connected ? ` --processes ${peers.size}` : '';
  return `npx grpo ${command} --resume ${folder.path}${processes}`;
}

function summarize(command: string, run: Run, { interrupted, stopped, before, after }: RunEnd) {
  const { folder, progress } = run;
  const { step } = progress;
  const early = step > 0 ? `Stopped after step ${step}; saved.` : 'Stopped before the first step.';
  const lines = [
    interrupted || stopped ? early : `Done after ${counted(step, 'step')}.`,
    ...(holdsRun(folder.path) ? [`Run folder: ${folder.path}`] : []),
  ];
  if (stopped) lines.push(describeStop(stopped, folder.path));
  else if (interrupted) lines.push(`Go on with: ${resumeCommand(command, run)}`);
  else if (step > 0) lines.push(`Model: ${folder.checkpoints}/step-${step}`);
  return {
    text: lines.join('\n'),
    data: {
      done: true,
      interrupted,
      stopped: stopped?.code ?? null,
      steps: progress.step,
      tokens: progress.tokens,
      output: folder.path,
      evalBefore: before?.greedy ?? null,
      evalAfter: after?.greedy ?? null,
    },
  };
}
