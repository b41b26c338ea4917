import type { CommandInfo } from '../command.js';

export const info: CommandInfo = {
  name: 'tiny-model',
  summary: 'Make a small model of random weights, to try your data and rewards with nothing to fetch',
  usage: 'tiny-model FOLDER [--seed N]',
  flags: {
    seed: { type: 'string', value: 'N', help: 'Draws the weights; 0 when not given' },
  },
  operands: true,
  load: () => import('./run.js'),
};
