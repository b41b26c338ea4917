import type { CommandInfo } from '../command.js';
import { jsonObject } from '../flags.js';

export const info: CommandInfo = {
  name: 'inspect',
  summary:
    'Inspect a model before it trains: template, special tokens, and another program’s prompt beside ours',
  usage: 'inspect MODEL [--prompt TEXT] [--path FILE] [--generate] [--save DIR] [--json]',
  flags: {
    prompt: {
      type: 'string',
      value: 'TEXT',
      multiple: true,
      help: 'A question of the table; may be repeated. A greeting when not given',
    },
    path: {
      type: 'string',
      value: 'FILE',
      multiple: true,
      help: 'Another program’s prompt, compared with ours: its text, or its ids as FILE.json; may be repeated',
    },
    generate: {
      type: 'boolean',
      help: 'Load the weights, too: completions at several temperatures, and what mistakes with padding would do',
    },
    save: { type: 'string', value: 'DIR', help: 'Write a log of each check into this folder' },
    json: jsonObject,
  },
  operands: true,
  load: () => import('./run.js'),
};
