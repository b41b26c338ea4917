import type { CommandInfo, Run } from '../command.js';

/** The commands of `grpo reward`, which load the tensor engine for a reward model only. */
export const rewardInfos = [
  {
    name: 'reward check',
    summary: 'Grade right answers and worthless ones as training does: which rule lets one of these through?',
    usage: 'reward check [TASK] [--config FILE.yaml] [--rows N] [--json] [key=value ...]',
    flags: {
      config: { type: 'string', value: 'FILE.yaml', help: 'Read settings from a YAML file' },
      rows: { type: 'string', value: 'N', help: 'Rows of the task to try; 8 when not given' },
      json: { type: 'boolean', help: 'One JSON object in place of the page' },
    },
    keys: 'reward check',
    operands: true,
  },
] as const satisfies readonly CommandInfo[];

/** Where each is. */
export const rewardModules: Record<(typeof rewardInfos)[number]['name'], () => Promise<{ run: Run }>> = {
  'reward check': () => import('../reward/check.js'),
};
