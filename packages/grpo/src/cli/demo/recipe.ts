import { objectLayer, type ResolvedConfig, resolveConfig } from '../../config/index.js';

/** Options of `grpo demo`, beside its recipe. */
export interface DemoOptions {
  /** Folder that the runs of the demo are written into. */
  output: string;
  /** `seed=`, `device=` and `threads=` as given on the command line. */
  shared: object;
}

const optimizer = { beta2: 0.99, warmupSteps: 10 };
const task = { name: 'arithmetic' };
// One sampled completion per problem beside the greedy one.
const evaluation = { before: false, samples: 1 };

/** SFT on a careless teacher: format and digits are learnt, and most carries forgotten. */
export function sftRecipe({ output, shared }: DemoOptions): ResolvedConfig {
  return resolve('sft', {
    ...shared,
    output: `${output}/sft`,
    task,
    sft: { steps: 700, batchSize: 32, learningRate: 3e-3 },
    optimizer: { ...optimizer, schedule: 'cosine' },
    rollout: { maxNewTokens: 40 },
    eval: evaluation,
  });
}

/** GRPO from there: only whether the answer is right counts. */
export function grpoRecipe({ output, shared }: DemoOptions, model: string, name = 'grpo'): ResolvedConfig {
  return resolve('train', {
    ...shared,
    model,
    output: `${output}/${name}`,
    task,
    train: { steps: 120 },
    rollout: { prompts: 16, group: 16, maxNewTokens: 40 },
    optimizer: { ...optimizer, learningRate: 2e-4 },
    eval: evaluation,
  });
}

/** More of the same SFT, for as many steps as the compute of GRPO buys. */
export function moreSftRecipe({ output, shared }: DemoOptions, model: string, steps: number): ResolvedConfig {
  return resolve('sft', {
    ...shared,
    model,
    output: `${output}/more-sft`,
    task,
    sft: { steps, batchSize: 32, learningRate: 5e-4 },
    optimizer,
    rollout: { maxNewTokens: 40 },
    eval: evaluation,
  });
}

function resolve(command: 'sft' | 'train', values: object): ResolvedConfig {
  // The environment had its say when the demo's own settings were read; here it would win over them.
  return resolveConfig({ command, layers: [objectLayer('grpo demo', values)], env: {} });
}
