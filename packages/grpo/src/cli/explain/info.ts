import type { CommandInfo } from '../command.js';
import { config, jsonObject } from '../flags.js';

export const info: CommandInfo = {
  name: 'explain',
  summary: 'Show what a preset, a file or a run makes of training: formula, settings, what is unsound',
  usage: 'explain [PRESET | RUN | --config FILE.yaml] [--json] [key=value ...]',
  flags: { config, json: jsonObject },
  keys: 'explain',
  operands: true,
  load: () => import('./run.js'),
};
