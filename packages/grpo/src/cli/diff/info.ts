import type { CommandInfo } from '../command.js';
import { jsonObject } from '../flags.js';

export const info: CommandInfo = {
  name: 'diff',
  summary: 'Show how two presets, files or runs differ, or two versions of TRL, and what it means',
  usage: 'diff A B [--trl] [--json]',
  flags: {
    trl: {
      type: 'boolean',
      help: 'A and B are folders with TRL (site-packages, trl, a checkout): the code and the defaults that make the numbers of GRPO',
    },
    json: jsonObject,
  },
  operands: true,
  load: () => import('./run.js'),
};
