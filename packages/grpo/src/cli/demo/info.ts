import type { CommandInfo } from '../command.js';
import { json } from '../flags.js';

export const info: CommandInfo = {
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
  load: () => import('./run.js'),
};
