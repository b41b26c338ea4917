/** Flags that several commands take. */
import type { Flag } from './command.js';

export const json: Flag = {
  type: 'boolean',
  help: 'JSON rows on standard output, everything else on standard error',
};

export const jsonObject: Flag = { type: 'boolean', help: 'One JSON object in place of the page' };

export const config: Flag = { type: 'string', value: 'FILE.yaml', help: 'Read settings from a YAML file' };

export const resume: Flag = { type: 'string', value: 'DIR', help: 'Go on with the run in this folder' };

export const restart: Flag = {
  type: 'boolean',
  help: 'With --resume: start over where the run has no checkpoint, and throw away its rows',
};

export const studio: Flag = {
  type: 'boolean',
  help: 'Serve the page of the run on 127.0.0.1 while it trains; the link is printed',
};
