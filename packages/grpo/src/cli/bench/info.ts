import type { CommandInfo } from '../command.js';
import { json } from '../flags.js';

export const info: CommandInfo = {
  name: 'bench',
  summary: 'Time GRPO steps on random weights, stage by stage: needs no model and no data',
  usage: 'bench [--model NAME] [--prompts N] [--group N] [--prompt-len N] [...] [--json]',
  flags: {
    model: {
      type: 'string',
      value: 'NAME',
      help: 'tiny, gpt2-124m, qwen2.5-0.5b or qwen2.5-1.5b; tiny when not given',
    },
    'prompt-len': { type: 'string', value: 'N', help: 'Tokens of a prompt; 64 when not given' },
    'completion-len': { type: 'string', value: 'N', help: 'Tokens of a completion; 64 when not given' },
    group: { type: 'string', value: 'N', help: 'Completions of a prompt; 8 when not given' },
    prompts: { type: 'string', value: 'N', help: 'Prompts per step; 8 when not given' },
    steps: {
      type: 'string',
      value: 'N',
      help: 'Steps, of which the first warms up, for five seconds or more; 4 when not given',
    },
    beta: { type: 'string', value: 'X', help: 'Weight of the KL; 0 when not given: no reference' },
    micro: {
      type: 'string',
      value: 'N',
      help: 'Completions a micro-batch; train.microBatchTokens when not given',
    },
    threads: { type: 'string', value: 'N', help: 'CPU threads; all physical cores when not given' },
    bf16: { type: 'boolean', help: 'Weights in bfloat16, with float32 masters' },
    'random-lengths': { type: 'boolean', help: 'Completions of 4 tokens and more, up to --completion-len' },
    device: { type: 'string', value: 'NAME', help: 'cpu or cuda; cpu when not given' },
    seed: {
      type: 'string',
      value: 'N',
      help: 'Draws the sizes, precision and β that no flag names: work that no one chose',
    },
    json,
  },
  load: () => import('./run.js'),
};
