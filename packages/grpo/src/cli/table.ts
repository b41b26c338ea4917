import { moreFlags } from './assignment/flags.js';
import type { Command, CommandInfo, Flag, Run } from './command.js';
import { dataInfos, dataModules } from './commands/data.js';
import { rewardInfos, rewardModules } from './commands/reward.js';

const json: Flag = {
  type: 'boolean',
  help: 'JSON rows on standard output, everything else on standard error',
};
const config: Flag = { type: 'string', value: 'FILE.yaml', help: 'Read settings from a YAML file' };
const preset: Flag = {
  type: 'string',
  value: 'NAME',
  help: 'Begin from published settings; grpo explain NAME shows them. cs336 brings flags of its own',
};
const resume: Flag = { type: 'string', value: 'DIR', help: 'Go on with the run in this folder' };
const restart: Flag = {
  type: 'boolean',
  help: 'With --resume: start over where the run has no checkpoint, and throw away its rows',
};

/** Every command of `grpo`, in the order of the help. */
export const commandInfos = [
  {
    name: 'train',
    summary: 'Train a model with GRPO on a task and its rewards',
    usage: 'train [--preset NAME] [--config FILE.yaml] [--resume DIR] [--json] [key=value ...]',
    flags: { preset, config, resume, restart, json },
    more: moreFlags,
    keys: 'train',
  },
  {
    name: 'sft',
    summary: 'Fine-tune a model on the demonstrations of a task',
    usage: 'sft [--config FILE.yaml] [--resume DIR] [--json] [key=value ...]',
    flags: { config, resume, restart, json },
    keys: 'sft',
  },
  {
    name: 'expert',
    summary: 'Train a model by expert iteration: sample, keep what is right, imitate it, repeat',
    usage: 'expert [--config FILE.yaml] [--resume DIR] [--json] [key=value ...]',
    flags: { config, resume, restart, json },
    keys: 'expert',
  },
  {
    name: 'eval',
    summary: 'Measure a model on the held-out problems of a task: accuracy, pass@k, rewards, lengths',
    usage: 'eval [--config FILE.yaml] [--against DIR] [--completions FILE] [--json] [key=value ...]',
    flags: {
      against: {
        type: 'string',
        value: 'DIR',
        help: 'Another model to measure on the same problems: shows the difference',
      },
      completions: {
        type: 'string',
        value: 'FILE',
        help: 'Also write every completion, with its grade and rewards, as JSON Lines',
      },
      config,
      json,
    },
    keys: 'eval',
  },
  {
    name: 'generate',
    summary: 'Let a model complete a prompt',
    usage: 'generate --prompt TEXT [--config FILE.yaml] [--json] [key=value ...]',
    flags: {
      prompt: {
        type: 'string',
        value: 'TEXT',
        multiple: true,
        help: 'What to complete: plain text, or with task.system the message of a user; may be repeated',
      },
      config,
      json,
    },
    keys: 'generate',
  },
  {
    name: 'merge',
    summary: 'Add a LoRA adapter to its model, and write that as a model of its own',
    usage: 'merge ADAPTER FOLDER [--base MODEL] [--dtype NAME]',
    flags: {
      base: {
        type: 'string',
        value: 'MODEL',
        help: 'The model that is adapted; the one that the adapter names when not given',
      },
      dtype: {
        type: 'string',
        value: 'NAME',
        help: "float32 or bfloat16; that of the model's weights when not given",
      },
    },
    operands: true,
  },
  {
    name: 'bench',
    summary: 'Time GRPO steps on random weights, stage by stage: needs no model and no data',
    usage: 'bench [--model NAME] [--prompts N] [--group N] [--prompt-len N] [...] [--json]',
    flags: {
      model: {
        type: 'string',
        value: 'NAME',
        help: 'tiny, gpt2-124m, qwen2.5-0.5b or qwen2.5-1.5b; tiny when not given',
      },
      'prompt-len': { type: 'string', value: 'N', help: 'Tokens of a prompt; 64 when not given' },
      'completion-len': { type: 'string', value: 'N', help: 'Tokens of a completion; 64 when not given' },
      group: { type: 'string', value: 'N', help: 'Completions of a prompt; 8 when not given' },
      prompts: { type: 'string', value: 'N', help: 'Prompts a step; 8 when not given' },
      steps: { type: 'string', value: 'N', help: 'Steps, of which the first warms up; 4 when not given' },
      beta: { type: 'string', value: 'X', help: 'Weight of the KL; 0 when not given: no reference' },
      micro: {
        type: 'string',
        value: 'N',
        help: 'Completions a micro-batch; train.microBatchTokens when not given',
      },
      threads: { type: 'string', value: 'N', help: 'CPU threads; all physical cores when not given' },
      bf16: { type: 'boolean', help: 'Weights in bfloat16, with float32 masters' },
      'random-lengths': { type: 'boolean', help: 'Completions of 4 tokens and more, up to --completion-len' },
      device: { type: 'string', value: 'NAME', help: 'cpu or cuda; cpu when not given' },
      seed: {
        type: 'string',
        value: 'N',
        help: 'Draws the sizes, precision and β that no flag names: work that no one chose',
      },
      json,
    },
  },
  {
    name: 'explain',
    summary: 'Show what a preset or a file makes of training: formula, settings, what is unsound',
    usage: 'explain [PRESET | --config FILE.yaml] [--json] [key=value ...]',
    flags: { config, json: { type: 'boolean', help: 'One JSON object in place of the page' } },
    keys: 'explain',
    operands: true,
  },
  {
    name: 'diff',
    summary: 'Show how two presets or files differ, and what it means',
    usage: 'diff A B [--json]',
    flags: { json: { type: 'boolean', help: 'One JSON object in place of the page' } },
    operands: true,
  },
  {
    name: 'setup',
    summary: 'Get libtorch and build the addon: once, before the first model is loaded',
    usage: 'setup',
    flags: {},
  },
  {
    name: 'fetch',
    summary: 'Get a model or a dataset from a Hugging Face hub into the local cache',
    usage: 'fetch ORG/NAME [FILE ...] [--dataset] [--revision REVISION] [--json]',
    flags: {
      dataset: { type: 'boolean', help: 'It is a dataset, not a model' },
      revision: { type: 'string', value: 'REVISION', help: 'Branch, tag or commit; main when not given' },
      json,
    },
    operands: true,
  },
  ...dataInfos,
  ...rewardInfos,
  {
    name: 'doctor',
    summary: 'Name what is wrong with a run: one of ours, of TRL, or the log of another trainer',
    usage: 'doctor (PATH [--html FILE] | --explain CODE | --selftest) [--json]',
    flags: {
      html: {
        type: 'string',
        value: 'FILE',
        help: 'Also write one HTML page, with the curves that findings cite',
      },
      explain: {
        type: 'string',
        value: 'CODE',
        help: 'Print all that is known of a fault and its checks: B38 or B38.repeat',
      },
      selftest: {
        type: 'boolean',
        help: 'Plant every known fault in small runs and show which are named, and what clean runs alarm',
      },
      json: { type: 'boolean', help: 'One JSON object in place of the report' },
    },
    operands: true,
  },
  {
    name: 'env',
    summary: 'Show versions, paths, devices, threads and speed of the tensor engine',
    usage: 'env [--config FILE.yaml] [--json] [key=value ...]',
    flags: {
      config: {
        type: 'string',
        value: 'FILE.yaml',
        help: 'Show instead what training with these settings would take of memory and disk',
      },
      json,
    },
    keys: 'train',
  },
  {
    name: 'demo',
    summary: 'Teach a tiny model arithmetic in two minutes, with nothing to download',
    usage: 'demo [--controls] [--json] [key=value ...]',
    flags: {
      controls: {
        type: 'boolean',
        help: 'Also run two arms with the same compute: more SFT, and shuffled rewards',
      },
      json,
    },
    keys: 'demo',
  },
] as const satisfies readonly CommandInfo[];

type Name = (typeof commandInfos)[number]['name'];

// Imported when run: help and the wrong command line need no tensor engine.
const modules: Record<Name, () => Promise<{ run: Run }>> = {
  train: () => import('./commands/train.js'),
  sft: () => import('./commands/sft.js'),
  expert: () => import('./commands/expert.js'),
  eval: () => import('./commands/eval.js'),
  generate: () => import('./commands/generate.js'),
  explain: () => import('./commands/explain.js'),
  diff: () => import('./commands/diff.js'),
  setup: () => import('./commands/setup.js'),
  fetch: () => import('./commands/fetch.js'),
  ...dataModules,
  ...rewardModules,
  doctor: () => import('./commands/doctor.js'),
  env: () => import('./commands/env.js'),
  merge: () => import('./commands/merge.js'),
  bench: () => import('./commands/bench.js'),
  demo: () => import('./commands/demo.js'),
};

/** The commands that can be run. */
export const commands: readonly Command[] = commandInfos.map((info) => ({
  ...info,
  run: async (args) => (await modules[info.name]()).run(args),
}));
