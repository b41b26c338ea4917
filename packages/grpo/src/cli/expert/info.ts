import type { CommandInfo } from '../command.js';
import { config, json, restart, resume, studio } from '../flags.js';

export const info: CommandInfo = {
  name: 'expert',
  summary: 'Train a model by expert iteration: sample, keep what is right, imitate it, repeat',
  usage: 'expert [--config FILE.yaml] [--resume DIR] [--json] [key=value ...]',
  flags: { config, resume, restart, studio, json },
  keys: 'expert',
  load: () => import('./run.js'),
};
