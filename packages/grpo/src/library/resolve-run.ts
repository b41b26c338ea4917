/** What a run in code is given, and how it becomes a configuration. */

import { type InCode, readsFromConfig } from '../config/in-code.js';
import {
  type ConfigInput,
  type Layer,
  objectLayer,
  type ResolvedConfig,
  recordLayer,
  resolveConfig,
  UsageError,
} from '../config/index.js';
import { notRead } from '../config/layers/layer.js';
import type { Task } from '../tasks/task.js';

type Section<Name extends keyof ConfigInput> = NonNullable<ConfigInput[Name]>;

type Common = Pick<
  ConfigInput,
  'preset' | 'seed' | 'device' | 'dtype' | 'threads' | 'memory' | 'rollout' | 'eval'
>;

/** Settings of `train`, nested as in a YAML file; each has a default. `npx grpo train --help all` tells what they do. */
export type TrainSettings = Common &
  Pick<
    ConfigInput,
    | 'onRewardError'
    | 'groups'
    | 'objective'
    | 'advantage'
    | 'kl'
    | 'entropy'
    | 'correction'
    | 'lora'
    | 'optimizer'
    | 'train'
    | 'checkpoint'
    | 'record'
    | 'doctor'
    | 'sinks'
  >;

/** Settings of `sft`. `npx grpo sft --help all` tells what they do. */
export type SftSettings = Common &
  Pick<ConfigInput, 'sft' | 'lora' | 'checkpoint' | 'sinks'> & {
    optimizer?: Omit<Section<'optimizer'>, 'learningRate'>;
    train?: Pick<Section<'train'>, 'microBatchTokens' | 'recompute'>;
  };

/** Settings of `evaluate`. `npx grpo eval --help all` tells what they do. */
export type EvalSettings = Omit<Common, 'eval'> & {
  eval?: Omit<Section<'eval'>, 'every' | 'stopAt' | 'before'>;
  lora?: Pick<Section<'lora'>, 'adapter'>;
};

/** The verbs of the library, by the command that reads the same settings. */
const VERBS = { train: 'train()', sft: 'sft()', eval: 'evaluate()' } as const;

export type Verb = keyof typeof VERBS;

/** What a verb is called in a message. */
export const nameOf = (verb: Verb): string => VERBS[verb];

/**
 * The configuration of a run in code.
 *
 * @throws UsageError for anything but a task, or that lists every problem with the settings; for `resume` UserError when the folder holds no run of this task
 */
export function resolveRun(
  verb: Verb,
  options: {
    model: string;
    task: Task;
    output?: string | undefined;
    resume?: boolean | undefined;
    settings?: object | undefined;
  },
): ResolvedConfig {
  const { model, task, output, resume, settings = {} } = options;
  if (!Array.isArray(task?.train))
    throw new UsageError(`${nameOf(verb)} needs a task: what defineTask() returned`);
  const rewards = task.rewards.map(({ name, weight }) => ({ name, weight }));
  if (verb === 'train' && rewards.every(({ weight }) => weight === 0))
    throw new UsageError(`task ${task.name} has no reward with a weight: there is nothing to train on`);
  const code: InCode = { task: task.name, rewards };
  const record = resume && output !== undefined ? [recordLayer(output, code)] : [];
  const layers = [
    ...record,
    settingsLayer(verb, settings, code),
    objectLayer(nameOf(verb), { model, output }),
  ];
  return resolveConfig({ command: verb, layers, code });
}

/** Keys of the configuration that have a place of their own among the options. */
const OPTIONS = ['model', 'output'];

function settingsLayer(verb: Verb, settings: object, code: InCode): Layer {
  const source = `settings of ${nameOf(verb)}`;
  const layer = objectLayer(source, settings);
  const reads = (path: string) => readsFromConfig(verb, path, code) && !OPTIONS.includes(path);
  for (const path of layer.entries.keys())
    if (!reads(path)) layer.problems.push(notRead(nameOf(verb), path, source, reads));
  return layer;
}
