/** Runs whose task and rewards are written in code: their stand-ins in the configuration and its record. */

import { UserError } from '../errors/user-error.js';
import { type ConfigCommand, readsKey } from './command-keys.js';

/** A task in code, as a record of a run names it. */
export interface InCode {
  task: string;
  rewards: readonly { name: string; weight: number }[];
}

/** The source of values that a program gives. */
export const IN_CODE = 'in code';

const isOfTask = (path: string) => path === 'rewards' || path.startsWith('task.');

/** Whether a command reads a key from the configuration: with a task in code nothing of the task's is. */
export function readsFromConfig(command: ConfigCommand, path: string, code: InCode | undefined): boolean {
  return readsKey(command, path) && !(code && isOfTask(path));
}

type Values = Record<string, { value?: unknown; source: string }>;

/** The values of a record with the task and the rewards as the code names them, and nothing that only files have. */
export function withCode(values: Values, { task, rewards }: InCode): Values {
  const others = Object.entries(values).filter(([path]) => !isOfTask(path));
  const named = {
    'task.name': { value: task, source: IN_CODE },
    rewards: { value: rewards, source: IN_CODE },
  };
  return Object.fromEntries([...others, ...Object.entries(named)]);
}

/** @throws UserError when the run in `folder` was made with another task than it would go on with */
export function requireSameTask(folder: string, values: Values, code: InCode | undefined): void {
  const { value: name, source } = values['task.name'] ?? {};
  if (source === IN_CODE && !code) {
    throw new UserError(
      `The task of the run in ${folder}, ${name}, is written in code, which this command does not have.`,
      {
        hint: `Continue it in that program: train({ …, output: '${folder}', resume: true }).`,
      },
    );
  }
  if (code && !(source === IN_CODE && name === code.task))
    throw new UserError(
      `${folder} holds a run of the task ${name}${source === IN_CODE ? '' : ', which is not in code'}, not of ${code.task}`,
    );
}
