import type { CommandInfo } from '../command.js';

export const info: CommandInfo = {
  name: 'merge',
  summary: 'Add a LoRA adapter to its model, and write that as a model of its own',
  usage: 'merge ADAPTER FOLDER [--base MODEL] [--dtype NAME]',
  flags: {
    base: {
      type: 'string',
      value: 'MODEL',
      help: 'The model that is adapted; the one that the adapter names when not given',
    },
    dtype: {
      type: 'string',
      value: 'NAME',
      help: "float32 or bfloat16; that of the model's weights when not given",
    },
  },
  operands: true,
  load: () => import('./run.js'),
};
