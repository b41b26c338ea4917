import type { CommandInfo } from '../command.js';
import { json } from '../flags.js';

export const info: CommandInfo = {
  name: 'fetch',
  summary: 'Get a model or a dataset from a Hugging Face hub into the local cache',
  usage: 'fetch ORG/NAME [FILE ...] [--dataset] [--revision REVISION] [--json]',
  flags: {
    dataset: { type: 'boolean', help: 'It is a dataset, not a model' },
    revision: { type: 'string', value: 'REVISION', help: 'Branch, tag or commit; main when not given' },
    json,
  },
  operands: true,
  load: () => import('./run.js'),
};
