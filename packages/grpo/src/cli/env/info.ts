import type { CommandInfo } from '../command.js';
import { json } from '../flags.js';

export const info: CommandInfo = {
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
  load: () => import('./run.js'),
};
