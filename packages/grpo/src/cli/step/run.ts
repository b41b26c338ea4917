import { UsageError } from '../../config/index.js';
import { registry } from '../../doctor/registry.js';
import type { StepRecord } from '../../trace/index.js';
import { readRun } from '../../trace/readers/index.js';
import { compareSteps } from '../../view/compare-steps.js';
import { type StepView, viewOf } from '../../view/step-view.js';
import { tokenViews } from '../../view/token-view.js';
import { type CommandArguments, EXIT } from '../command.js';
import { readable } from '../readable.js';
import { pageWidth } from '../text-layout.js';
import { comparisonText } from './comparison.js';
import { stepPage } from './page.js';

const SHOWS = ['groups', 'tokens', 'loss', 'all'] as const;

/**
 * `grpo step`: one recorded step, phase by phase; exit code 1 where the doctor fails it. Or its first difference to another:
 * exit code 1 where there is one. Needs no tensor engine.
 */
export async function run({ flags, operands }: CommandArguments): Promise<number> {
  const [path, ...more] = operands;
  if (path === undefined || more.length > 0)
    throw new UsageError('grpo step needs one path', {
      hint: 'A run folder, a folder of step records or one of them: grpo step RUN --at 2',
    });
  const show = flags.show as string | undefined;
  if (show !== undefined && !SHOWS.some((one) => one === show))
    throw new UsageError(`--show takes ${SHOWS.join(', ')}, not ${show}`);
  const given = Object.keys(flags);
  const shown = ['show', 'prompt', 'completion'].filter((name) => given.includes(name));
  if (flags.against !== undefined && shown.length > 0)
    throw new UsageError(`--${shown[0]} shows one step: it does not go with --against`);
  if (flags.against === undefined && (flags.at as string[] | undefined)?.[1] !== undefined)
    throw new UsageError('--at is given twice: the second is the step of --against');
  const [at, otherAt = at] =
    (flags.at as string[] | undefined)?.map((text) => wholeNumber('--at', text)) ?? [];
  const record = await readable(() => recordAt(path, at));
  if (flags.against !== undefined) {
    const other = await readable(() => recordAt(flags.against as string, otherAt));
    const comparison = compareSteps(record, other);
    process.stdout.write(
      flags.json ? `${JSON.stringify(comparison)}\n` : comparisonText(comparison, pageWidth()),
    );
    return comparison.difference ? EXIT.error : 0;
  }
  const view = viewOf(record, registry);
  const { name } = completionOf(view, flags.completion as string | undefined);
  const prompt = promptOf(view, flags.prompt as string | undefined) ?? Number(name?.split('.')[0] ?? 0);
  const wants = (what: string) => show === what || show === 'all';
  const showsTokens = wants('tokens') || flags.completion !== undefined;
  const tokens = showsTokens && name !== undefined ? tokenViews(record, name, view) : undefined;
  process.stdout.write(
    flags.json
      ? `${JSON.stringify({ ...view, ...(tokens && { tokens }) })}\n`
      : stepPage(path, view, {
          prompts: wants('groups') ? view.prompts.map(({ index }) => index) : [prompt],
          tokens: tokens && name !== undefined ? { name, rows: tokens } : undefined,
          loss: wants('loss'),
          width: pageWidth(),
        }),
  );
  const all = view.verdicts.at(-1)!;
  return all.findings.some(({ severity }) => severity === 'fail') ? EXIT.error : 0;
}

/** The record of a step, or the last one. */
async function recordAt(path: string, at: number | undefined): Promise<StepRecord> {
  const reading = await readRun(path);
  const steps: number[] = [];
  let found: StepRecord | undefined;
  for (const record of reading.records ?? []) {
    steps.push(record.step);
    if (at === undefined || record.step === at) found = record;
  }
  if (found) return found;
  if (steps.length === 0)
    throw new UsageError(`${path} has no step record: it is ${reading.kind}`, {
      hint: 'grpo train writes records itself; for TRL see integrations/trl. A log alone is read by: grpo doctor PATH',
    });
  throw new UsageError(`${path} has no record of step ${at}; it has those of ${steps.join(', ')}`);
}

/** The completion that was asked for, or the first one of the step. */
function completionOf({ completions }: StepView, name: string | undefined): { name?: string } {
  if (name === undefined) return completions[0] ?? {};
  const found = completions.find((one) => one.name === name);
  if (found) return found;
  throw new UsageError(
    `there is no completion ${name}; the step has ${completions[0]?.name ?? 'none'} to ${completions.at(-1)?.name ?? 'none'}`,
  );
}

function promptOf({ prompts }: StepView, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const prompt = wholeNumber('--prompt', text);
  if (prompt < prompts.length) return prompt;
  throw new UsageError(`there is no prompt ${prompt}; the step has 0 to ${prompts.length - 1}`);
}

function wholeNumber(flag: string, text: string): number {
  const number = Number(text);
  if (/^\d+$/.test(text)) return number;
  throw new UsageError(`${flag} takes a whole number, not ${text}`);
}
