import { resolveConfig } from '../../config/index.js';
import { describeDevice } from '../../run/device.js';
import { forOneStep, type StepTaken, scoreIn, takeStep } from '../../run/one-step.js';
import { openRun } from '../../run/open-run.js';
import { type StepView, viewOf } from '../../view/step-view.js';
import { signed } from '../cells.js';
import { claimStdout } from '../claim-stdout.js';
import { type CommandArguments, EXIT } from '../command.js';
import { interruptible } from '../interrupt.js';
import { createReporter } from '../live.js';
import { describeStop, watcherOf } from '../training.js';
import { type Change, type Shown, showStep } from './show-step.js';

/** `grpo step --config FILE`: takes one step, and shows it with what it did to the answers to its own prompts. */
export async function takeAndShow(
  { flags, settings }: CommandArguments,
  shownOf: (view: StepView) => Shown,
): Promise<number> {
  const file = flags.config as string;
  const resolved = forOneStep(resolveConfig({ command: 'train', file, settings }));
  using out = claimStdout();
  using reporter = createReporter({ stream: process.stderr });
  using interrupt = interruptible(reporter.note, 'stopping and saving');
  await using run = await openRun(resolved, {
    // Its answers before and after are on the page.
    watcher: { ...watcherOf(reporter, 1, resolved.config.rollout.prompts), evaluated: () => {} },
    signal: interrupt.signal,
  });
  reporter.note(describeDevice(resolved.config.device, resolved.provenance.device!));
  reporter.note(run.needs);
  const taken = await takeStep(run);
  reporter.close();
  const { output } = run.config;
  const { record, stopped } = taken;
  if (stopped) process.stderr.write(`${describeStop(stopped, output)}\n`);
  if (!record) return stopped ? EXIT.finding : interrupt.exitCode;
  const view = viewOf(record);
  const { samples, temperature } = run.config.eval;
  const change = changeOf(taken, `${samples} sampled, T ${temperature}`);
  return showStep(output, record, view, { ...shownOf(view), json: flags.json === true, change, out });
}

function changeOf({ before, after, change }: StepTaken, sampled: string): Change {
  if (!change) return { lines: ['not measured: the run was stopped after the step'], data: {} };
  const lines = (['greedy', 'sampled'] as const).flatMap((decoding) => {
    const difference = change[decoding];
    if (difference === undefined) return [];
    const name = decoding === 'greedy' ? 'greedy' : sampled;
    if (difference === null) return [`${name}: no prompt has a reward from both`];
    const { of, mean, low, high, better, worse } = difference;
    const [from, to] = [before!, after!].map((result) => scoreIn(result, decoding, difference)!.toFixed(3));
    const interval = low === null ? '' : ` (95 % interval ${signed(low)} to ${signed(high!)})`;
    return [
      `${name}: ${of} ${from} → ${to}, paired ${signed(mean)}${interval}; ${better} prompts better, ${worse} worse`,
    ];
  });
  const scores = ({ greedy, sampled: drawn }: NonNullable<typeof before>) => ({
    greedy,
    ...(drawn && { sampled: drawn }),
  });
  return {
    lines: [`the same ${before!.problems} prompts before the step and after it`, ...lines],
    data: { evaluation: { before: scores(before!), after: scores(after!), change } },
  };
}
