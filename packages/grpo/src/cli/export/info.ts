import type { CommandInfo } from '../command.js';

export const info: CommandInfo = {
  name: 'export',
  summary: 'Write a model as one GGUF file, for llama.cpp, node-llama-cpp and Ollama',
  usage: 'export MODEL --gguf FILE [--type TYPE] [--base MODEL]',
  flags: {
    gguf: { type: 'string', value: 'FILE', help: 'The file to write; its name ends in .gguf' },
    type: {
      type: 'string',
      value: 'TYPE',
      help: 'What the weights are written as: f16, bf16, q8_0 or f32; bf16 where they are bfloat16, else f16, when not given',
    },
    base: {
      type: 'string',
      value: 'MODEL',
      help: 'The model that an adapter adapts; the one that it names when not given',
    },
  },
  operands: true,
  load: () => import('./run.js'),
};
