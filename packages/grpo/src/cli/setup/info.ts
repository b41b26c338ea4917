import type { CommandInfo } from '../command.js';

export const info: CommandInfo = {
  name: 'setup',
  summary: 'Get libtorch and build the addon: once, before the first model is loaded',
  usage: 'setup',
  flags: {},
  load: () => import('./run.js'),
};
