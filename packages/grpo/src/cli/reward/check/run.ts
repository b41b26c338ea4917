import { existsSync } from 'node:fs';
import { type Config, resolveConfig, UsageError } from '../../../config/index.js';
import { wholeNumber } from '../../../errors/whole-number.js';
import { modelFolder } from '../../../hub/model-folder.js';
import { readModelFolder } from '../../../models/folder/folder.js';
import { isJudge, scoreCompletions, takeJudgeReports } from '../../../rewards/index.js';
import { CANARY_ROWS, type CanaryGroup, canaryGroups, gradeCanaries } from '../../../tasks/canaries/index.js';
import { type LoadedTask, loadTask } from '../../../tasks/index.js';
import { claimStdout } from '../../claim-stdout.js';
import type { CommandArguments } from '../../command.js';
import { EXIT } from '../../command.js';
import { readable } from '../../readable.js';
import { isClean, type RewardReport, rewardPage } from './reward-page.js';

/** Built-in rewards that count tokens, which a model's tokenizer makes. */
const COUNTING: readonly unknown[] = ['cosine-length', 'repetition', 'overlong'];

/**
 * `grpo reward check`: grades canaries with the rewards of training, the same worker threads included. Exit code 0 when
 * right answers are paid and nothing else is, 1 with findings, 2 when it cannot be told.
 */
export async function run({ flags, settings, operands: [word, ...more] }: CommandArguments): Promise<number> {
  const isFile = word !== undefined && (/\.ya?ml$/i.test(word) || existsSync(word));
  if (more.length > 0 || (isFile && flags.config !== undefined))
    throw new UsageError('grpo reward check takes one task: its name, or the YAML file with its settings.');
  const { config } = resolveConfig({
    command: 'reward check',
    file: isFile ? word : (flags.config as string | undefined),
    settings: [...(word === undefined || isFile ? [] : [`task.name=${word}`]), ...settings],
  });
  const rows = wholeNumber('--rows', flags.rows, { least: 1 }) ?? CANARY_ROWS;
  using claimed = flags.json ? claimStdout() : undefined;
  const report = await readable(() => check(config, rows));
  const clean = isClean(report);
  (claimed ?? process.stdout).write(
    flags.json ? `${JSON.stringify({ clean, ...report })}\n` : rewardPage(report),
  );
  return clean ? 0 : EXIT.error;
}

async function check(config: Config, rows: number): Promise<RewardReport> {
  const encode = tokenizerOf(config);
  // A reward model alone takes the tensor engine.
  const open = config.rewards.some(({ model }) => model !== undefined)
    ? (await import('../../../run/open-task.js')).openTask
    : loadTask;
  using task = await open(config);
  const groups = canaryGroups(task, { seed: config.seed, rows });
  if (groups.length === 0) {
    throw new UsageError(`the task ${task.name} has no row with a right answer, so nothing can be told`, {
      hint: 'Rows with an answer that is graded have one, and rows with a demonstration.',
    });
  }
  const size = Math.max(...groups.map(({ canaries }) => canaries.length));
  tellOfJudges(task, groups);
  const start = performance.now();
  const table = await scoreCompletions(task.rewards, batchOf(groups, size, encode), { onError: 'drop' });
  const { numbers, alarms } = takeJudgeReports(task.rewards);
  return {
    task: task.name,
    rows: groups.length,
    tells: task.isCorrect !== undefined,
    rewards: task.rewards.map(({ name, weight }) => ({ name, weight })),
    canaries: gradeCanaries(task, groups, table, { size }),
    failures: table.failures,
    judges: { numbers, alarms },
    seconds: (performance.now() - start) / 1000,
  };
}

/** All groups as one batch: the canaries of each, filled up with its gold answer. */
function batchOf(
  groups: readonly CanaryGroup[],
  size: number,
  encode: ((text: string) => number[]) | undefined,
) {
  const all = groups.flatMap(({ problem, gold, canaries }) =>
    Array.from({ length: size }, (_, i) => ({ problem, text: canaries[i]?.completion ?? gold })),
  );
  return {
    prompts: all.map(({ problem }) => problem.prompt),
    completions: all.map(({ text }) => text),
    ...(encode && { completionIds: all.map(({ text }) => encode(text)) }),
    rows: all.map(({ problem }) => problem.row),
  };
}

function tokenizerOf({ model, rewards }: Config): ((text: string) => number[]) | undefined {
  if (model !== undefined) {
    const { tokenizer } = readModelFolder(modelFolder(model));
    return (text) => tokenizer.encode(text);
  }
  const counting = rewards.find(({ builtin }) => COUNTING.includes(builtin));
  if (!counting) return undefined;
  throw new UsageError(`the reward ${counting.builtin} counts tokens, and there is no model to make them`, {
    hint: 'Give model=FOLDER: only its tokenizer is read.',
  });
}

/** On standard error and before: they cost time, and often money. */
function tellOfJudges({ rewards }: LoadedTask, groups: readonly CanaryGroup[]): void {
  const count = groups.reduce((sum, { canaries }) => sum + canaries.length, 0);
  for (const { name } of rewards.filter(isJudge))
    process.stderr.write(
      `The judge ${name} is asked about ${count} completions of ${groups.length} rows; what its cache has costs nothing.\n`,
    );
}
