import type { CommandInfo, Flag, Run } from '../command.js';

const json: Flag = { type: 'boolean', help: 'One JSON object in place of the page' };

/** The commands of `grpo data`, which all work on files of problems and load no tensor engine. */
export const dataInfos = [
  {
    name: 'data check',
    summary:
      'Look for duplicates, leakage, missing answers and prompts that are too long in files of problems',
    usage: 'data check TRAIN [EVAL] [--config FILE.yaml] [--json] [key=value ...]',
    flags: {
      config: { type: 'string', value: 'FILE.yaml', help: 'Read settings from a YAML file' },
      json,
    },
    keys: 'data check',
    operands: true,
  },
  {
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
  },
  {
    name: 'data restore',
    summary: 'Move IN.backup, which data convert --in-place left, back to IN',
    usage: 'data restore IN',
    flags: {},
    operands: true,
  },
  {
    name: 'data countdown',
    summary: 'Write Countdown problems, each with a solution: numbers that make a target',
    usage: 'data countdown OUT [--rows N] [--seed S]',
    flags: {
      rows: { type: 'string', value: 'N', help: 'How many; 1000 when not given' },
      seed: { type: 'string', value: 'S', help: 'Draws them; 0 when not given' },
    },
    operands: true,
  },
  {
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
  },
] as const satisfies readonly CommandInfo[];

/** Where each is. */
export const dataModules: Record<(typeof dataInfos)[number]['name'], () => Promise<{ run: Run }>> = {
  'data check': () => import('../data/check.js'),
  'data convert': () => import('../data/convert.js'),
  'data restore': () => import('../data/restore.js'),
  'data countdown': () => import('../data/countdown.js'),
  'data chess': () => import('../data/chess.js'),
};
