/** Small policies that know a little: made from random weights by a moment of imitation. */
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { AdamW, type DType } from '@grpo/torch';
import { examplesOf } from '../imitation/examples.js';
import { sftStep } from '../imitation/sft.js';
import { type DecoderConfig, initDecoder, type LoadedModel, saveModel } from '../models/index.js';
import { parseConfig } from '../models/parse/parse-config.js';
import { DataOrder } from '../tasks/order/data-order.js';
import { lettersTask } from './letters-task.js';
import { labText, writeLabText } from './model-files.js';

export type Family = Extract<DecoderConfig['family'], 'gpt2' | 'llama' | 'qwen2' | 'qwen3'>;

/** What tells one policy of the lab from another. */
export interface PolicyOptions {
  family: Family;
  dtype: DType;
  /** Whether the end of a turn also pads. */
  padIsEnd: boolean;
  /** Whether it is a masked-diffusion model: of random weights, which learnt nothing. */
  isMasked: boolean;
  /** What it learnt to say before an answer. */
  answerPrefix: string;
  /** Steps of its imitation: few enough by default that it still errs, and doubts. */
  steps: number;
  seed: number;
}

const STEPS = 90;
const BATCH = 16;

const made = new Map<string, Promise<LoadedModel>>();

/** The policy, made once in a process; clone its decoder to change it. */
export function labPolicy(options: Partial<PolicyOptions> = {}): Promise<LoadedModel> {
  const { family = 'qwen2', dtype = 'float32', padIsEnd = false, answerPrefix = '', seed = 0 } = options;
  const { isMasked = false, steps = STEPS } = options;
  const key = [family, dtype, padIsEnd, isMasked, answerPrefix, steps, seed].join(' ');
  let model = made.get(key);
  if (!model) {
    model = makePolicy({ family, dtype, padIsEnd, isMasked, answerPrefix, steps, seed });
    made.set(key, model);
  }
  return model;
}

/** Writes the policy to a folder that does not exist yet, with the files that a run loads. */
export async function writeLabPolicy(dir: string, seed: number): Promise<void> {
  const work = `${dir}.partial`;
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  await writeLabText(work);
  saveModel(await labPolicy({ seed }), work);
  renameSync(work, dir);
}

/** Frees every policy that was made. */
export async function disposePolicies(): Promise<void> {
  for (const model of made.values()) (await model).decoder.dispose();
  made.clear();
}

async function makePolicy({
  family,
  dtype,
  padIsEnd,
  isMasked,
  answerPrefix,
  steps,
  seed,
}: PolicyOptions): Promise<LoadedModel> {
  const { tokenizer, template, endId, eosId } = await labText(padIsEnd ? '<|end|>' : '<pad>');
  const { vocabSize } = tokenizer;
  const configJson = isMasked ? maskedJsonOf(family, vocabSize) : configJsonOf(family, vocabSize);
  const decoder = initDecoder(parseConfig(configJson, 'config.json'), { seed, dtype, std: 0.08 });
  for (const parameter of decoder.parameters.values()) parameter.requiresGrad = true;
  const model: LoadedModel = {
    decoder,
    tokenizer,
    template,
    endIds: new Set([endId, eosId]),
    configJson,
    files: new Map(),
  };
  if (isMasked) return model;
  const optimizer = new AdamW(decoder.parameters, { beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0 });
  try {
    const task = lettersTask();
    const train = task.train.map((problem) => ({
      ...problem,
      demonstration: answerPrefix + problem.demonstration,
    }));
    const examples = examplesOf(model, { ...task, train });
    const order = new DataOrder(examples.length, seed);
    for (let step = 0; step < steps; step++) {
      const batch = order.at(step, BATCH).map((i) => examples[i]!);
      await sftStep(model, optimizer, batch, { learningRate: 4e-3, maxGradNorm: 1, microBatchTokens: 8192 });
    }
  } finally {
    optimizer.dispose();
  }
  return model;
}

/** That of a masked-diffusion model (Tiny-A2D): the token after the tokenizer's own stands at hidden places. */
const maskedJsonOf = (family: Family, vocabSize: number): Record<string, unknown> => ({
  ...configJsonOf(family, vocabSize + 1),
  model_type: `a2d-${family}`,
  mask_token_id: vocabSize,
});

/** `config.json` of a decoder of about 30,000 parameters in the form of each family. */
const configJsonOf = (family: Family, vocabSize: number): Record<string, unknown> =>
  family === 'gpt2'
    ? {
        model_type: family,
        vocab_size: vocabSize,
        n_embd: 32,
        n_inner: 64,
        n_layer: 2,
        n_head: 4,
        n_positions: 128,
      }
    : {
        model_type: family,
        vocab_size: vocabSize,
        hidden_size: 32,
        intermediate_size: 64,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        num_key_value_heads: 2,
        head_dim: 8,
        max_position_embeddings: 128,
        tie_word_embeddings: family !== 'llama',
      };
