import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AdamW } from '@grpo/torch';
import { resolveConfig } from '../../config/index.js';
import { uniform } from '../../maths/random.js';
import { estimate } from '../../memory/estimate.js';
import { weightCount } from '../../memory/holdings.js';
import { machineBudget } from '../../memory/limit.js';
import { type Decoder, initDecoder, type LoadedModel } from '../../models/index.js';
import { sample } from '../../rollout/index.js';
import { Control } from '../../step/control.js';
import { samplingOf } from '../../step/sampling.js';
import { type Stages, stages } from '../../step/stages.js';
import type { Trainer } from '../../step/trainer.js';
import { writeArithmeticModelFiles } from '../../tasks/arithmetic/arithmetic-model.js';
import type { Problem, Task } from '../../tasks/task.js';
import { Tokenizer } from '../../text/tokenizer.js';
import { benchModels, type Workload } from './workload.js';

/** Streams of random numbers, apart from those of the sampler. */
const PROMPTS = 1;
const LENGTHS = 2;

/** A trainer for the workload: dapo, AdamW, one update a rollout, end tokens suppressed. */
export async function benchTrainer(work: Workload): Promise<Trainer & Disposable> {
  const model = await randomModel(work);
  const reference = work.beta > 0 ? model.decoder.clone() : undefined;
  for (const parameter of model.decoder.parameters.values()) parameter.requiresGrad = true;
  const { config } = resolveConfig({ command: 'train', env: {}, settings: settingsOf(work) });
  const optimizer = new AdamW(model.decoder.parameters, config.optimizer);
  return {
    model,
    reference,
    task,
    optimizer,
    config,
    sampling: samplingOf(config, [], lotOf(work, model.decoder)),
    stages: { ...stages, ...randomStages(work) },
    control: new Control(config),
    [Symbol.dispose]() {
      optimizer.dispose();
      reference?.dispose();
      model.decoder.dispose();
    },
  };
}

/** Bytes that a run's plan gives to completions that are decoded together. */
function lotOf({ device, beta }: Workload, { config, engine }: Decoder): number {
  const reference = beta > 0 ? { weights: weightCount(config), adapters: 0, moves: false } : undefined;
  const work = {
    model: config,
    engine,
    compiles: false,
    trained: 'weights',
    reference,
    rewardModels: 0,
  } as const;
  return estimate(work, machineBudget(device).bytes).lotBytes;
}

const settingsOf = ({ device, bf16, beta, group, prompts, ...work }: Workload): string[] => [
  'task.name=arithmetic',
  `device=${device}`,
  `dtype=${bf16 ? 'bfloat16' : 'float32'}`,
  `kl.beta=${beta}`,
  `rollout.group=${group}`,
  `rollout.prompts=${prompts}`,
  `rollout.maxNewTokens=${work.completionLength}`,
  `rollout.minNewTokens=${work.completionLength}`,
  ...(work.micro > 0
    ? [
        `train.microBatchTokens=${work.micro * work.completionLength + Math.ceil(work.micro / group) * work.promptLength}`,
      ]
    : []),
];

/** Random weights, and a tokenizer of bytes: prompts are ids already, and most ids of the vocabulary are no text. */
async function randomModel({ model, bf16, device }: Workload): Promise<LoadedModel> {
  const dir = mkdtempSync(join(tmpdir(), 'grpo-bench-'));
  try {
    await writeArithmeticModelFiles(dir);
    const config = benchModels[model];
    return {
      decoder: initDecoder(config, { seed: 0, dtype: bf16 ? 'bfloat16' : 'float32', device }),
      tokenizer: Tokenizer.load(dir),
      template: undefined,
      endIds: new Set([config.vocabSize - 1]),
      configJson: {},
      files: new Map(),
    };
  } finally {
    rmSync(dir, { recursive: true });
  }
}

const task: Task = { name: 'random', train: [], eval: [], rewards: [], stop: [] };

/** Problems of a step: their rows are the steps' numbers. */
export const problemsOf = (step: number, { prompts }: Workload): Problem[] =>
  Array.from({ length: prompts }, () => ({ prompt: '', row: step }));

function randomStages(work: Workload): Pick<Stages, 'render' | 'sample' | 'score'> {
  const { vocabSize } = benchModels[work.model];
  const below = (count: number, ...keys: number[]) => Math.floor(count * uniform(0, ...keys));
  return {
    render: (_model, problems) =>
      problems.map(({ row }, p) => ({
        text: '',
        spans: [],
        ids: Array.from({ length: work.promptLength }, (_, i) =>
          below(vocabSize - 2, PROMPTS, Number(row), p, i),
        ),
      })),
    sample: (model, requests, options, seed) => {
      const limited = requests.map((request) => ({
        ...request,
        limits:
          request.limits ??
          Array.from({ length: request.count }, (_, i) =>
            work.randomLengths
              ? 4 + below(work.completionLength - 3, LENGTHS, ...request.keys, i)
              : work.completionLength,
          ),
      }));
      return sample(model, limited, options, seed);
    },
    score: async (_task, _problems, groups) => {
      const values = Float64Array.from(groups.flat(), ({ ids }) => new Set(ids).size % 7);
      return {
        names: ['distinct'],
        weights: [1],
        columns: [values],
        unscored: new Uint8Array(values.length),
        failures: [],
      };
    },
  };
}
