import type { CommandInfo } from '../command.js';

export const info: CommandInfo = {
  name: 'studio',
  summary: 'Open the page of runs, their steps, completions and tokens on this machine',
  usage: 'studio [PATH...] [--port N] [--host NAME] [--token] [--open | --bundle OUT]',
  flags: {
    port: {
      type: 'string',
      value: 'N',
      help: 'Port to listen on, 0 for any; by default 4776, or the next one that is free',
    },
    host: {
      type: 'string',
      value: 'NAME',
      help: 'Address to listen on: by default 127.0.0.1, which only this machine reaches. Any other needs a token, which is made and printed',
    },
    token: {
      type: 'boolean',
      help: 'Ask for a token on 127.0.0.1 too, on a machine that others use',
    },
    bundle: {
      type: 'string',
      value: 'OUT',
      help: 'Write the page with its data into a folder instead, for a double-click; without a path, the page of the doctor, which takes dropped files',
    },
    open: { type: 'boolean', help: 'Open the page in the browser' },
  },
  operands: true,
  load: () => import('./run.js'),
};
