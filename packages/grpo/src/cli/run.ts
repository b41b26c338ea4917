import { type ResolvedConfig, recordLayer, resolveConfig } from '../config/index.js';
import { openSession, type RunEnd, type Session, type Watcher } from '../train/index.js';
import type { MetricsRow } from '../train/metrics.js';
import { type CommandArguments, EXIT } from './command.js';
import { formatEvaluation } from './evaluation.js';
import { interruptible } from './interrupt.js';
import { createReporter, type Reporter, type StepRow } from './live.js';

/** The configuration of a command that trains: a new run's, or that of the run to resume with what is set anew. */
export function trainingConfig(
  command: 'train' | 'sft',
  { flags, settings }: CommandArguments,
): ResolvedConfig {
  const resume = flags.resume as string | undefined;
  const layers = resume === undefined ? [] : [recordLayer(resume)];
  return resolveConfig({ command, layers, file: flags.config as string | undefined, settings });
}

/**
 * Runs a training command: opens the session, trains, reports, and answers Ctrl-C. The first one ends the run after
 * the step in progress and saves it, a second one ends the process at once.
 */
export async function runTraining(
  args: CommandArguments,
  resolved: ResolvedConfig,
  {
    command,
    steps,
    train,
  }: { command: 'train' | 'sft'; steps: number; train: (session: Session) => Promise<RunEnd> },
): Promise<number> {
  const reporter = createReporter({ json: args.flags.json === true });
  using interrupt = interruptible(() =>
    reporter.note('Interrupted: finishing this step and saving. Ctrl-C again stops at once.'),
  );
  try {
    await using session = await openSession(resolved, {
      resume: args.flags.resume !== undefined,
      watcher: watcherOf(reporter, steps),
      signal: interrupt.signal,
    });
    const { output } = session.config;
    if (session.progress.step > 0)
      reporter.note(`Going on with ${output} after step ${session.progress.step}.`);
    const end = await train(session);
    reporter.done(summarize(command, session, end));
    return end.interrupted ? EXIT.interrupted : 0;
  } finally {
    reporter.close();
  }
}

/** Turns what a run tells into what a reporter shows. */
export function watcherOf(reporter: Reporter, steps: number): Watcher {
  let first: { step: number; time: number } | undefined;
  return {
    step(row) {
      first ??= { step: row.step - 1, time: performance.now() - 1000 * row.step_time! };
      const perStep = (performance.now() - first.time) / 1000 / (row.step - first.step);
      reporter.step(stepRow(row, steps, perStep * (steps - row.step)));
    },
    evaluated: (result, step) =>
      reporter.note(formatEvaluation(step === 0 ? 'before' : `after step ${step}`, result)),
    note: (text) => reporter.note(text),
  };
}

function stepRow(row: MetricsRow, steps: number, secondsLeft: number): StepRow {
  return {
    step: row.step,
    steps,
    reward: row.reward,
    rewardStd: row.reward_std,
    length: row['completions/mean_length']!,
    clippedRatio: row['completions/clipped_ratio'],
    tokensPerSecond: row.step_tokens! / row.step_time!,
    secondsLeft,
    loss: row.loss!,
    gradNorm: row.grad_norm!,
    kl: row.kl,
  };
}

function summarize(command: string, { folder, progress }: Session, { interrupted, before, after }: RunEnd) {
  const { step } = progress;
  const stopped = step > 0 ? `Stopped after step ${step}; saved.` : 'Stopped before the first step.';
  const lines = [interrupted ? stopped : `Done after ${step} steps.`, `Run folder: ${folder.path}`];
  if (interrupted) lines.push(`Go on with: npx grpo ${command} --resume ${folder.path}`);
  else if (step > 0) lines.push(`Model: ${folder.checkpoints}/step-${step}`);
  return {
    text: lines.join('\n'),
    data: {
      done: true,
      interrupted,
      steps: progress.step,
      tokens: progress.tokens,
      output: folder.path,
      evalBefore: before?.greedy ?? null,
      evalAfter: after?.greedy ?? null,
    },
  };
}
