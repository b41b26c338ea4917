import { realpathSync } from 'node:fs';
import { UsageError } from '../../config/index.js';
import { registry } from '../../doctor/registry.js';
import { wholeNumber } from '../../errors/whole-number.js';
import { Watch } from '../../progress/watch.js';
import { OpenRuns } from '../../studio/open-runs.js';
import type { StepRecord } from '../../trace/index.js';
import { filesOfStep } from '../../trace/readers/readable-files.js';
import { compareSteps } from '../../view/compare-steps.js';
import { readStep } from '../../view/read-step.js';
import { type StepView, viewOf } from '../../view/step-view.js';
import { type CommandArguments, EXIT } from '../command.js';
import { createReporter } from '../live.js';
import { readable } from '../readable.js';
import { writeOnePage } from '../studio/bundle/write-one-page.js';
import { pageWidth } from '../text-layout.js';
import { comparisonText } from './comparison.js';
import { type Shown, showStep } from './show-step.js';

const SHOWS = ['groups', 'tokens', 'loss', 'all'] as const;

/**
 * `grpo step`: one recorded step, phase by phase; exit code 1 where the doctor fails it. Or its first difference to another:
 * exit code 1 where there is one. Or the same rollout with other settings. Or a new step.
 */
export async function run(args: CommandArguments): Promise<number> {
  const { flags, operands, settings } = args;
  const [path, ...more] = operands;
  const show = flags.show as string | undefined;
  if (show !== undefined && !SHOWS.some((one) => one === show))
    throw new UsageError(`--show takes ${SHOWS.join(', ')}, not ${show}`);
  const given = Object.keys(flags);
  if (flags.config !== undefined) {
    const stray = ['at', 'against', 'html'].find((name) => given.includes(name));
    if (path !== undefined || stray !== undefined)
      throw new UsageError(`--config takes a new step: ${path ?? `--${stray}`} does not go with it`);
    const { takeAndShow } = await import('./take-step.js');
    return takeAndShow(args, (view) => shownOf(view, args));
  }
  if (more.length > 0)
    throw new UsageError(`grpo step takes one path, and ${more[0]} is a second`, {
      hint: 'A setting for a replay has its value behind it: key=value. Another step is compared by --against PATH.',
    });
  if (path === undefined)
    throw new UsageError('grpo step needs a path, or --config FILE', {
      hint: 'A run folder, a folder of step records or one of them: grpo step RUN --at 2',
    });
  const shown = ['show', 'prompt', 'completion', 'html'].filter((name) => given.includes(name));
  if (flags.against !== undefined && shown.length > 0)
    throw new UsageError(`--${shown[0]} shows one step: it does not go with --against`);
  if (flags.against !== undefined && settings.length > 0)
    throw new UsageError('a replay is compared with its own record: settings do not go with --against');
  if (settings.length > 0 && flags.html !== undefined)
    throw new UsageError('--html writes what was recorded: settings of a replay do not go with it');
  if (flags.against === undefined && (flags.at as string[] | undefined)?.[1] !== undefined)
    throw new UsageError('--at is given twice: the second is the step of --against');
  const [at, otherAt = at] =
    (flags.at as string[] | undefined)?.map((text) => wholeNumber('--at', text)!) ?? [];
  using reporter = createReporter({ stream: process.stderr });
  const watch = new Watch(reporter);
  const record = await readable(() => readStep(path, at, watch));
  if (flags.against !== undefined) {
    const other = await readable(() => readStep(flags.against as string, otherAt, watch));
    const comparison = compareSteps(record, other);
    reporter.close();
    process.stdout.write(
      flags.json ? `${JSON.stringify(comparison)}\n` : comparisonText(comparison, pageWidth()),
    );
    return comparison.difference ? EXIT.error : 0;
  }
  // A replay shows no verdict.
  const view = viewOf(record, settings.length > 0 ? [] : registry, watch);
  reporter.close();
  const { prompts, completion, loss } = shownOf(view, args);
  if (settings.length > 0) {
    const { printReplay } = await import('./replay.js');
    return printReplay(path, record, settings, {
      prompts: given.includes('prompt') || show !== undefined ? prompts : undefined,
      completion,
      json: flags.json === true,
    });
  }
  const code = showStep(path, record, view, { prompts, completion, loss, json: flags.json === true });
  if (flags.html !== undefined) await readable(async () => writeStepPage(flags.html as string, path, record));
  return code;
}

/** The page has the files of the step alone; of a step that no folder holds, those of its run. */
function writeStepPage(out: string, path: string, { step }: StepRecord): void {
  const run = realpathSync(path);
  const folder = new OpenRuns([run]).stepFolder(run, step);
  writeOnePage(out, {
    path,
    place: `step/${step}`,
    ...(folder !== undefined && { only: filesOfStep(folder) }),
  });
}

/** What is shown of a step, as the flags ask for it. */
function shownOf(view: StepView, { flags }: CommandArguments): Shown {
  const wants = (what: string) => flags.show === what || flags.show === 'all';
  const completion = completionOf(view, flags.completion as string | undefined);
  const prompt = promptOf(view, flags.prompt as string | undefined) ?? Number(completion?.split('.')[0] ?? 0);
  return {
    prompts: wants('groups') ? view.prompts.map(({ index }) => index) : [prompt],
    completion: wants('tokens') ? (completion ?? view.completions[0]?.name) : completion,
    loss: wants('loss'),
  };
}

/** The name of the completion that was asked for. */
function completionOf({ completions }: StepView, name: string | undefined): string | undefined {
  if (name === undefined || completions.some((one) => one.name === name)) return name;
  throw new UsageError(
    `there is no completion ${name}; the step has ${completions[0]?.name ?? 'none'} to ${completions.at(-1)?.name ?? 'none'}`,
  );
}

function promptOf({ prompts }: StepView, text: string | undefined): number | undefined {
  const prompt = wholeNumber('--prompt', text);
  if (prompt === undefined || prompt < prompts.length) return prompt;
  throw new UsageError(`there is no prompt ${prompt}; the step has 0 to ${prompts.length - 1}`);
}
