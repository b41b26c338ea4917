import type { CommandInfo } from '../../command.js';

export const info: CommandInfo = {
  name: 'data countdown',
  summary: 'Write Countdown problems, each with a solution: numbers that make a target',
  usage: 'data countdown OUT [--rows N] [--seed S]',
  flags: {
    rows: { type: 'string', value: 'N', help: 'How many; 1000 when not given' },
    seed: { type: 'string', value: 'S', help: 'Draws them; 0 when not given' },
  },
  operands: true,
  load: () => import('./run.js'),
};
