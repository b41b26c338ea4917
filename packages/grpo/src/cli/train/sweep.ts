import { join } from 'node:path';
import { type Layer, type ResolvedConfig, UserError } from '../../config/index.js';
import { makeFolder } from '../../formats/make-folder.js';
import { requireAlone } from '../../processes/rendezvous.js';
import { describeDevice } from '../../run/device.js';
import { holdsRun } from '../../run/folder/run-folder.js';
import { openRun } from '../../run/open-run.js';
import { trainGrpo } from '../../run/train-grpo.js';
import { type CommandArguments, EXIT } from '../command.js';
import { interruptible } from '../interrupt.js';
import { createReporter, type Reporter } from '../live.js';
import { type BesideRun, serveBesideRun } from '../studio/beside-run.js';
import { readPage } from '../studio/page.js';
import { trainingConfig, watcherOf } from '../training.js';
import { readArm } from './arm-result.js';
import { type ArmSettings, armsOf, readAxes } from './axes.js';
import { type Arm, sweepTable } from './sweep-table.js';

/**
 * `grpo train --sweep`: runs the same training with other settings, one after the other, each in a folder of its own, and
 * prints one table. Seed and data order are the same in all arms.
 *
 * @param flags - settings that flags stand for
 */
export async function runSweep(args: CommandArguments, flags: Layer): Promise<number> {
  requireAlone('a sweep');
  const axes = readAxes([args.flags.sweep].flat() as string[], args.settings);
  const resume = args.flags.resume as string | undefined;
  const base = resume ?? configOf(args, flags, armsOf(axes)[0]!).config.output;
  // All settings are checked before the first arm begins.
  const arms = armsOf(axes).map((arm) => ({ ...arm, ...armConfig(args, flags, arm, base) }));
  const reporter = createReporter({ json: args.flags.json === true });
  using interrupt = interruptible(reporter.note, 'stopping and saving');
  const done: Arm[] = [];
  const page = args.flags.studio ? readPage() : undefined;
  let beside: BesideRun | undefined;
  try {
    if (page) {
      makeFolder(base);
      beside = await serveBesideRun(page, base, 'runs', reporter.note);
    }
    const [{ resolved }] = arms as [(typeof arms)[0], ...typeof arms];
    reporter.note(describeDevice(resolved.config.device, resolved.provenance.device!));
    for (const [i, arm] of arms.entries()) {
      reporter.note(`Arm ${i + 1} of ${arms.length}: ${arm.name}`);
      const because = await trainArm(arm, reporter, {
        label: `${i + 1}/${arms.length}`,
        restart: args.flags.restart === true,
        signal: interrupt.signal,
      });
      if (interrupt.signal.aborted) {
        const again = axes.map(({ key, values }) => `--sweep ${key}=${values.join(',')}`).join(' ');
        reporter.note(`Go on with the same command and --resume: npx grpo train --resume ${base} ${again} …`);
        return interrupt.exitCode;
      }
      done.push({ ...arm, because, result: await readArm(arm.folder) });
    }
    const rows = done.map(({ settings, folder, because, result: { evaluated, ...result } }) => ({
      settings,
      folder,
      because: because ?? null,
      ...result,
      evaluated: evaluated && { step: evaluated.step, mean: evaluated.mean },
    }));
    const text = `${sweepTable(axes, done)}\nRuns: ${base}`;
    reporter.done({ text: `\n${text}`, data: { done: true, sweep: rows, output: base } });
    return done.some(({ because }) => because !== undefined) ? EXIT.finding : 0;
  } finally {
    reporter.close();
    await beside?.end();
  }
}

interface ArmRun {
  folder: string;
  isResumed: boolean;
  resolved: ResolvedConfig;
}

function armConfig(args: CommandArguments, flags: Layer, arm: ArmSettings, base: string): ArmRun {
  const folder = join(base, arm.name);
  const isResumed = args.flags.resume !== undefined && holdsRun(folder);
  return { folder, isResumed, resolved: configOf(args, flags, arm, { folder, isResumed }) };
}

/** The configuration of an arm: that of the command line, with its values. */
function configOf(
  args: CommandArguments,
  flags: Layer,
  { settings }: ArmSettings,
  place?: { folder: string; isResumed: boolean },
): ResolvedConfig {
  const { resume: _, restart: __, ...others } = args.flags;
  const given = [...args.settings.filter((text) => !place || !text.startsWith('output=')), ...settings];
  return trainingConfig(
    'train',
    {
      ...args,
      flags: { ...others, ...(place?.isResumed && { resume: place.folder }) },
      settings: place ? [...given, `output=${place.folder}`] : given,
    },
    flags,
  );
}

/**
 * Trains an arm to its end, or to that of the run that it goes on with.
 *
 * @returns why it ended early; a sweep goes on with the next arm, since that is an effect of its settings, too
 */
async function trainArm(
  { resolved, isResumed }: ArmRun,
  reporter: Reporter,
  { label, restart, signal }: { label: string; restart: boolean; signal: AbortSignal },
): Promise<string | undefined> {
  const { train, rollout } = resolved.config;
  const named: Reporter = { ...reporter, step: (row) => reporter.step({ arm: label, ...row }) };
  const watcher = watcherOf(named, train.steps, rollout.prompts);
  try {
    await using run = await openRun(resolved, { resume: isResumed, restart, watcher, signal });
    reporter.note(run.needs);
    const { stopped } = await trainGrpo(run);
    return stopped && `the doctor stopped it, ${stopped.code}`;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    reporter.note(error.message);
    return error.message;
  }
}
