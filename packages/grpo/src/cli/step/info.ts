import type { CommandInfo } from '../command.js';
import { config } from '../flags.js';

export const info: CommandInfo = {
  name: 'step',
  summary: 'Show a step of a run, phase by phase; replay it with other settings; or take one',
  usage: 'step PATH [--at N] [--show WHAT] [--against PATH | key=value ...], or step --config FILE',
  keys: 'train',
  flags: {
    config: {
      ...config,
      help: 'Take one step with the settings of a YAML file, and show it with the answers to its prompts before and after',
    },
    at: {
      type: 'string',
      value: 'N',
      multiple: true,
      help: 'The step; the last full record when not given. Given twice, the second is that of --against',
    },
    against: {
      type: 'string',
      value: 'PATH',
      help: 'Another record: prints the first difference in the order of the step, with exit code 1',
    },
    show: {
      type: 'string',
      value: 'WHAT',
      help: 'Also print: groups (all prompts), tokens (of one completion), loss (what each completion adds), or all',
    },
    prompt: { type: 'string', value: 'P', help: 'The prompt whose group is shown, from 0; 0 when not given' },
    completion: { type: 'string', value: 'P.I', help: 'The completion whose tokens are shown, as 2.5' },
    html: {
      type: 'string',
      value: 'FILE',
      help: 'Also write a page of the step, down to its tokens, as one file',
    },
    json: { type: 'boolean', help: 'Print one JSON object instead of the page' },
  },
  operands: true,
  load: () => import('./run.js'),
};
