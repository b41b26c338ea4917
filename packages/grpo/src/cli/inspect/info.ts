import type { CommandInfo } from '../command.js';
import { config, jsonObject } from '../flags.js';

export const info: CommandInfo = {
  name: 'inspect',
  summary: 'Inspect a model before it trains: its template, what ends it, another program’s prompt',
  usage: 'inspect MODEL [--config FILE | --prompt TEXT] [--path FILE] [--generate] [--save DIR]',
  flags: {
    config: {
      ...config,
      help: 'A run’s settings: its own first rows in place of the table, lengths, stop strings, memory',
    },
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
