import type { CommandInfo } from '../command.js';
import { config, json } from '../flags.js';

export const info: CommandInfo = {
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
  load: () => import('./run.js'),
};
