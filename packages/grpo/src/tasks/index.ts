/** From configuration to task. */
import { createHash } from 'node:crypto';
import type { Config } from '../config/schema.js';
import { UserError } from '../errors/user-error.js';
import { recordable } from '../formats/json.js';
import { type LoadedReward, loadReward, type RewardSurroundings } from '../rewards/load-reward.js';
import { arithmeticTask } from './arithmetic/task.js';
import { checkTiers } from './check-tiers.js';
import { chessTask } from './chess/task.js';
import { countdownTask } from './countdown/task.js';
import { bbqTask } from './fairness/task.js';
import { haluevalTask } from './hallucination/task.js';
import { jsonlTask } from './jsonl/task.js';
import { mixedTask } from './mix.js';
import { sudokuTask } from './sudoku/task.js';
import type { Task } from './task.js';

/** A task that may own worker threads for the user's rewards, or a chess engine, which disposing ends. */
export interface LoadedTask extends Task, Disposable {}

/** A task in code, which owns nothing. */
export const asLoaded = (task: Task): LoadedTask => ({ ...task, [Symbol.dispose]: () => undefined });

/** Values of a row that its fingerprint covers: rows may be nodes of one large graph. */
const MOST_PRINTED = 1000;

/** Fingerprint of the problems of a task in code, for a run's record: `52 problems, sha256 9f86…`. */
export function problemsFingerprint({ train, eval: held }: Task): string {
  const hash = createHash('sha256');
  for (const { prompt, row } of [...train, ...held])
    hash.update(JSON.stringify([prompt, recordable(row, MOST_PRINTED)]));
  return `${train.length + held.length} problems, sha256 ${hash.digest('hex')}`;
}

/**
 * Makes the configured task. The user's rewards are added to the task's own, if it has any.
 * Paths are absolute or from the working directory.
 *
 * @param openModel - loads a reward model, where there is a tensor engine
 * @throws UserError, FormatError or FileError for a problem in the configuration or its files
 */
export async function loadTask(
  config: Pick<Config, 'task' | 'rewards' | 'seed'>,
  openModel?: RewardSurroundings['openModel'],
): Promise<LoadedTask> {
  const task = await makeTask(config);
  if (config.task.stop !== undefined) task.stop = config.task.stop;
  const loadedRewards: LoadedReward[] = [];
  const dispose = () => {
    for (const reward of loadedRewards) reward[Symbol.dispose]();
    task[Symbol.dispose]?.();
  };
  try {
    const { answerKey, questionKey } = config.task;
    for (const reward of config.rewards) {
      const { tiers, tierKey = 'tier' } = reward;
      if (tiers) checkTiers(task, tiers, { tierKey, questionKey });
      const surroundings = { answerKey, seed: config.seed, task: task.name, ...(openModel && { openModel }) };
      loadedRewards.push(await loadReward(reward, surroundings));
    }
    // An engine thinks for as long as it is given.
    const isStateless = config.task.engine === undefined && ({ isStateless: true } as const);
    const rewards = [...task.rewards.map((reward) => ({ ...reward, ...isStateless })), ...loadedRewards];
    checkNames(rewards.map((reward) => reward.name));
    return { ...task, rewards, [Symbol.dispose]: dispose };
  } catch (error) {
    dispose();
    throw error;
  }
}

async function makeTask({ task, seed }: Pick<Config, 'task' | 'seed'>): Promise<Task & Partial<Disposable>> {
  const name = task.name ?? (task.data === undefined ? undefined : 'jsonl');
  if (name === 'mix') return makeMix(task, seed);
  const { evalSize, slips } = task;
  const generated = { seed, slips, ...(evalSize !== undefined && { evalSize }) };
  if (name === 'arithmetic') return arithmeticTask(generated);
  if (name === 'sudoku') return sudokuTask(generated);
  if (name === undefined || task.data === undefined) {
    throw new UserError(name === undefined ? 'no task is set' : `task.name=${name} needs task.data`, {
      hint: 'Set task.data to a file of problems (JSON Lines, a JSON array or Parquet), or task.name=arithmetic.',
    });
  }
  const files = { ...task, data: task.data };
  if (name === 'chess') return chessTask(files);
  if (name === 'bbq') return bbqTask(files);
  if (name === 'halueval') return haluevalTask(files);
  return name === 'countdown' ? countdownTask(files) : jsonlTask(files);
}

/** The tasks of a mixture: the common settings, with those of each over them. */
async function makeMix({ mix = [], ...common }: Config['task'], seed: number): Promise<Task & Disposable> {
  const owned: Partial<Disposable>[] = [];
  const dispose = () => {
    for (const task of owned) task[Symbol.dispose]?.();
  };
  try {
    const parts: { task: Task; share: number }[] = [];
    for (const { share, ...own } of mix) {
      const task = await makeTask({ task: { ...common, ...own }, seed });
      owned.push(task);
      parts.push({ task: { ...task, stop: common.stop ?? task.stop }, share });
    }
    return { ...mixedTask(parts), [Symbol.dispose]: dispose };
  } catch (error) {
    dispose();
    throw error;
  }
}

/** Metrics are named after rewards. */
function checkNames(names: string[]): void {
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice === undefined) return;
  throw new UserError(`two rewards are named ${twice}`, {
    hint: 'Give yours another name: rewards: [{module, name}].',
  });
}
