import type { CommandInfo } from '../../command.js';

export const info: CommandInfo = {
  name: 'data restore',
  summary: 'Move IN.backup, which data convert --in-place left, back to IN',
  usage: 'data restore IN',
  flags: {},
  operands: true,
  load: () => import('./run.js'),
};
