import type { CommandInfo } from '../command.js';
import { config, json, restart, resume, studio } from '../flags.js';
import { dialects } from './dialects.js';

const names = dialects.map(({ presets }) => presets[0]).join(', ');

export const info: CommandInfo = {
  name: 'train',
  summary: 'Train a model with GRPO on a task and its rewards',
  usage: 'train [--preset NAME] [--config FILE] [--sweep KEY=A,B] [--resume DIR] [key=value ...]',
  flags: {
    preset: {
      type: 'string',
      value: 'NAME',
      help: `Begin from published settings; grpo explain NAME shows them. ${names} brings flags of its own`,
    },
    config,
    sweep: {
      type: 'string',
      value: 'KEY=A,B',
      multiple: true,
      help: 'Train once per value, on the same data order, and print one table; several make a grid',
    },
    processes: {
      type: 'string',
      value: 'N',
      help: 'Train in N processes, which share the threads and memory of this machine (docs/scale.md)',
    },
    resume,
    restart,
    studio,
    json,
  },
  presetFlags: dialects,
  keys: 'train',
  load: ({ flags: { processes } }) =>
    processes === undefined ? import('./run.js') : import('./processes.js'),
};
