import type { CommandInfo } from '../command.js';

export const info: CommandInfo = {
  name: 'doctor',
  summary: 'Name what is wrong with a run: one of ours, of TRL, or the log of another trainer',
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
      help: 'Print all that is known of a fault and its checks: B38 or B38.repeat',
    },
    selftest: {
      type: 'boolean',
      help: 'Plant every known fault in small runs and show which are named, and what clean runs alarm',
    },
    json: { type: 'boolean', help: 'One JSON object in place of the report' },
  },
  operands: true,
  load: () => import('./run.js'),
};
