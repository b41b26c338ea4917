import type { CommandInfo } from '../command.js';
import { config, json } from '../flags.js';

export const info: CommandInfo = {
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
  load: () => import('./run.js'),
};
