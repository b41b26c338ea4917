import type { CommandInfo } from '../command.js';
import { jsonObject } from '../flags.js';

export const info: CommandInfo = {
  name: 'diff',
  summary: 'Show how two presets or files differ, and what it means',
  usage: 'diff A B [--json]',
  flags: { json: jsonObject },
  operands: true,
  load: () => import('./run.js'),
};
