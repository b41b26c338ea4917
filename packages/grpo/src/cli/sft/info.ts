import type { CommandInfo } from '../command.js';
import { config, json, restart, resume, studio } from '../flags.js';

export const info: CommandInfo = {
  name: 'sft',
  summary: 'Fine-tune a model on the demonstrations of a task',
  usage: 'sft [--config FILE.yaml] [--resume DIR] [--json] [key=value ...]',
  flags: { config, resume, restart, studio, json },
  keys: 'sft',
  load: () => import('./run.js'),
};
