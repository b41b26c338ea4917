import type { CommandInfo } from '../../command.js';
import { config, jsonObject } from '../../flags.js';

export const info: CommandInfo = {
  name: 'data check',
  summary: 'Look for duplicates, leakage, missing answers and prompts that are too long in files of problems',
  usage: 'data check TRAIN [EVAL] [--config FILE.yaml] [--json] [key=value ...]',
  flags: {
    config,
    json: jsonObject,
  },
  keys: 'data check',
  operands: true,
  load: () => import('./run.js'),
};
