import type { CommandInfo } from '../../command.js';

export const info: CommandInfo = {
  name: 'data chess',
  summary:
    'Write chess rows from random legal games: what a move leads to, and with an engine the best moves',
  usage: 'data chess OUT [--held-out FILE] [--games N] [--plies N] [--seed S] [--engine PATH]',
  flags: {
    'held-out': {
      type: 'string',
      value: 'FILE',
      help: 'Write every tenth game here, without the prompts that are in OUT; no file when not given',
    },
    games: { type: 'string', value: 'N', help: 'How many; 100 when not given' },
    plies: {
      type: 'string',
      value: 'N',
      help: 'Moves of a game at most, both sides counted; 60 when not given',
    },
    seed: { type: 'string', value: 'S', help: 'Draws the games; 0 when not given' },
    engine: {
      type: 'string',
      value: 'PATH',
      help: 'UCI engine for P rows, or none; stockfish, if it is there, when not given',
    },
  },
  operands: true,
  load: () => import('./run.js'),
};
