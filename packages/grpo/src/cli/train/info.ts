import type { CommandInfo } from '../command.js';
import { config, json, restart, resume } from '../flags.js';
import { dialects } from './dialects.js';

const names = dialects.map(({ presets }) => presets[0]).join(', ');

export const info: CommandInfo = {
  name: 'train',
  summary: 'Train a model with GRPO on a task and its rewards',
  usage: 'train [--preset NAME] [--config FILE.yaml] [--resume DIR] [--json] [key=value ...]',
  flags: {
    preset: {
      type: 'string',
      value: 'NAME',
      help: `Begin from published settings; grpo explain NAME shows them. ${names} brings flags of its own`,
    },
    config,
    resume,
    restart,
    json,
  },
  presetFlags: dialects,
  keys: 'train',
  load: () => import('./run.js'),
};
