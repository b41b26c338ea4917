import type { CommandInfo } from '../../command.js';

export const info: CommandInfo = {
  name: 'data convert',
  summary: 'Write JSON Lines from JSON Lines, a JSON array or Parquet, with keys renamed',
  usage: 'data convert IN OUT [--final-answer] [NEW=OLD ...] | data convert IN --in-place …',
  flags: {
    'in-place': { type: 'boolean', help: 'Replace IN, which stays as IN.backup' },
    'final-answer': {
      type: 'boolean',
      help: 'Make answer the final answer, what follows #### or the last \\boxed; the whole text stays as solution',
    },
  },
  operands: true,
  load: () => import('./run.js'),
};
