/** From configuration to task. */
import { createHash } from 'node:crypto';
import { UserError } from '../config/errors.js';
import type { Config } from '../config/schema.js';
import { type LoadedReward, loadReward } from '../rewards/load.js';
import { arithmeticTask } from './arithmetic.js';
import { jsonlTask } from './jsonl.js';
import type { Task } from './task.js';

/** A task that may own worker threads for the user's rewards, which disposing ends. */
export interface LoadedTask extends Task, Disposable {}

/** A task in code, which owns nothing. */
export const asLoaded = (task: Task): LoadedTask => ({ ...task, [Symbol.dispose]: () => undefined });

/** What tells whether a task in code still asks the same, for a run's record: `52 prompts, sha256 9f86…`. */
export function promptsFingerprint({ train, eval: held }: Task): string {
  const prompts = [...train, ...held].map(({ prompt }) => prompt);
  return `${prompts.length} prompts, sha256 ${createHash('sha256').update(JSON.stringify(prompts)).digest('hex')}`;
}

/**
 * Makes the configured task. The user's reward modules are added to the task's own rewards, if it has any.
 * Paths are absolute or from the working directory.
 *
 * @throws UserError, FormatError or FileError with what is wrong in the configuration or its files
 */
export async function loadTask(config: Pick<Config, 'task' | 'rewards' | 'seed'>): Promise<LoadedTask> {
  const task = await makeTask(config);
  if (config.task.stop !== undefined) task.stop = config.task.stop;
  const own: LoadedReward[] = [];
  const dispose = () => {
    for (const reward of own) reward[Symbol.dispose]();
  };
  try {
    for (const module of config.rewards) own.push(await loadReward(module));
    const rewards = [...task.rewards, ...own];
    checkNames(rewards.map((reward) => reward.name));
    return { ...task, rewards, [Symbol.dispose]: dispose };
  } catch (error) {
    dispose();
    throw error;
  }
}

async function makeTask({ task, seed }: Pick<Config, 'task' | 'seed'>): Promise<Task> {
  const name = task.name ?? (task.data === undefined ? undefined : 'jsonl');
  if (name === 'arithmetic') return arithmeticTask({ seed, evalSize: task.evalSize, slips: task.slips });
  if (name === undefined || task.data === undefined) {
    throw new UserError(name === undefined ? 'no task is set' : 'task.name=jsonl needs task.data', {
      hint: 'Set task.data to a JSON Lines file of problems, or task.name=arithmetic.',
    });
  }
  return jsonlTask({ ...task, data: task.data });
}

/** Metrics are named after rewards. */
function checkNames(names: string[]): void {
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice === undefined) return;
  throw new UserError(`two rewards are named ${twice}`, {
    hint: 'Give yours another name: rewards: [{module, name}].',
  });
}
