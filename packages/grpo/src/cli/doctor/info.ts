import type { CommandInfo } from '../command.js';

export const info: CommandInfo = {
  name: 'doctor',
  summary: 'Find what is wrong with a run of grpo.ts or TRL, or with the log of another trainer',
  usage: 'doctor (PATH [--html FILE] | --explain CODE | --selftest) [--json]',
  flags: {
    html: {
      type: 'string',
      value: 'FILE',
      help: 'Also write one HTML page, with the curves that findings cite',
    },
    explain: {
      type: 'string',
      value: 'CODE',
      help: 'Print what a fault is and how it is checked: B38 or B38.repeat',
    },
    selftest: {
      type: 'boolean',
      help: 'Plant every known fault in small runs; print which are named, and the false alarms of clean runs',
    },
    json: { type: 'boolean', help: 'Print one JSON object instead of the report' },
  },
  operands: true,
  load: () => import('./run.js'),
};
