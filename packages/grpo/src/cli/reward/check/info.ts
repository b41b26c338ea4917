import type { CommandInfo } from '../../command.js';
import { config, jsonObject } from '../../flags.js';

export const info: CommandInfo = {
  name: 'reward check',
  summary: 'Grade right answers and worthless ones as training does: which rule lets one of these through?',
  usage: 'reward check [TASK] [--config FILE.yaml] [--rows N] [--json] [key=value ...]',
  flags: {
    config,
    rows: { type: 'string', value: 'N', help: 'Rows of the task to try; 8 when not given' },
    json: jsonObject,
  },
  keys: 'reward check',
  operands: true,
  load: () => import('./run.js'),
};
