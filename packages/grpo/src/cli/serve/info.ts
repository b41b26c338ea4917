import type { CommandInfo } from '../command.js';

export const info: CommandInfo = {
  name: 'serve',
  summary: "Serve a model over HTTP, by OpenAI's, vLLM's and SGLang's calls",
  usage: 'serve MODEL [--port N] [--api-key KEY] [--weights-from DIR] [key=value ...]',
  flags: {
    port: { type: 'string', value: 'N', help: 'Port to listen on, 0 for any; 8000 by default' },
    host: {
      type: 'string',
      value: 'NAME',
      help: 'Address to listen on: by default 127.0.0.1, which only this machine reaches. Any other needs a key',
    },
    'api-key': {
      type: 'string',
      value: 'KEY',
      help: 'Key that clients bring; other users of the machine see it here, but not in the variable GRPO_API_KEY',
    },
    'without-key': {
      type: 'boolean',
      help: 'Let everybody who reaches --host use the model and load weights',
    },
    'weights-from': {
      type: 'string',
      value: 'DIR',
      multiple: true,
      help: 'Clients may load LoRA adapters and weights from folders below this one; may be repeated. From nowhere by default',
    },
    name: {
      type: 'string',
      value: 'NAME',
      help: 'Name that clients ask for; MODEL as it is written by default',
    },
    'max-model-len': {
      type: 'string',
      value: 'N',
      help: "Longest prompt and completion together, in tokens; the model's context by default",
    },
  },
  keys: 'serve',
  operands: true,
  load: () => import('./run.js'),
};
