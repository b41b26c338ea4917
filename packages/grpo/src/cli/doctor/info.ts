import type { CommandInfo } from '../command.js';

export const info: CommandInfo = {
  name: 'doctor',
  summary: 'Find what is wrong with a run of grpo.ts or TRL, or with the log of another trainer',
  usage: 'doctor (PATH [--html FILE] | --before CONFIG | --explain CODE | --selftest) [--json]',
  flags: {
    metric: {
      type: 'string',
      value: 'NAME=COLUMN',
      multiple: true,
      help: 'Take a column of the log for a metric, whatever its name, such as reward=score; may be repeated',
    },
    html: {
      type: 'string',
      value: 'FILE',
      help: 'Also write a page with the report, its curves, steps and tokens, as one file',
    },
    explain: {
      type: 'string',
      value: 'CODE',
      help: 'Print what a fault is and how it is checked: B38 or B38.repeat',
    },
    before: {
      type: 'string',
      value: 'CONFIG',
      help: 'Do the first step of the run that a file describes and examine it; nothing is kept',
    },
    selftest: {
      type: 'boolean',
      help: 'Plant every known fault in small runs; print which are named, and the false alarms of clean runs',
    },
    'fail-on': {
      type: 'string',
      value: 'SEVERITY',
      help: 'Findings that end with exit code 1: warn (default), or only fail. 0 is nothing found, 2 nothing to judge, 4 too little to judge',
    },
    json: { type: 'boolean', help: 'Print one JSON object instead of the report' },
  },
  operands: true,
  load: () => import('./run.js'),
};
