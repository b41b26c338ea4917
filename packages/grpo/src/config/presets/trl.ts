/** Defaults of TRL's GRPOTrainer. */
import { cite, type Preset } from './preset.js';

const V0 = 'TRL 0.17.0 GRPOConfig';
const V1 = 'TRL 1.13 GRPOConfig';
const BATCHES = 'per_device_train_batch_size 8, gradient_accumulation_steps 1';
const EPOCHS = {
  what: 'num_train_epochs 3',
  why: 'train.steps counts steps, whatever the size of the data: set it to 3 × rows / rollout.prompts',
};
const MICRO_BATCHES = {
  what: 'per_device_train_batch_size as the size of a micro-batch',
  why: 'micro-batches are cut by tokens (train.microBatchTokens)',
};
/** In any version up to 1.13. */
const WHOLE = 'log-probs are of the whole vocabulary, whatever sampling cut away';
const DROPOUT = { what: 'dropout of the model while training', why: 'our decoder has none' };

/** Settings that have been the same in all versions. */
const always = (source: string) => ({
  ...cite(source, {
    'rollout.group': 8,
    'rollout.topP': 1,
    'objective.clipLow': 0.2,
    'objective.iterations': 1,
    'objective.maskTruncated': false,
    'advantage.scale': 'group',
    'advantage.ddof': 1,
    'advantage.epsilon': 1e-4,
    'optimizer.learningRate': 1e-6,
    'optimizer.schedule': 'linear',
    'optimizer.warmupSteps': 0,
    'optimizer.beta1': 0.9,
    'optimizer.beta2': 0.999,
    'optimizer.epsilon': 1e-8,
    'optimizer.weightDecay': 0,
    'optimizer.maxGradNorm': 1,
    seed: 42,
  }),
  ...cite(`${source}: ${BATCHES}, num_generations 8`, { 'rollout.prompts': 1, 'objective.minibatches': 1 }),
  ...cite(`${source}: ${WHOLE}`, { 'rollout.keepSupport': false }),
  ...cite(`${source}: the ratio is taken to the log-probs themselves`, {
    'objective.oldLogprobs': 'detach',
  }),
});

export const trl017: Preset = {
  summary: 'The defaults of TRL 0.17, of April 2025',
  values: {
    ...always(V0),
    ...cite(V0, {
      'objective.loss': 'bnpo',
      'kl.beta': 0.04,
      'kl.estimator': 'k3',
      'rollout.temperature': 0.9,
      'rollout.topK': 50,
      'rollout.maxNewTokens': 256,
    }),
    ...cite('TRL 0.17.0 GRPOTrainer', { 'objective.compat': 'trl-1.10' }),
  },
  unsupported: [
    EPOCHS,
    MICRO_BATCHES,
    DROPOUT,
    { what: 'max_prompt_length 512', why: 'prompts are never cut' },
  ],
};

export const trl1: Preset = {
  summary: 'The defaults of TRL 1.13',
  values: {
    ...always(V1),
    ...cite(V1, {
      'objective.loss': 'dapo',
      'kl.beta': 0,
      'rollout.temperature': 1,
      'rollout.topK': 0,
      'rollout.maxNewTokens': 512,
      'entropy.coefficient': 0,
      'entropy.topShare': 1,
      'advantage.combine': 'sum_then_normalize',
    }),
    ...cite(`${V1}: use_bias_correction_kl, from 1.11 on; for a β above 0`, { 'kl.biasCorrected': true }),
    ...cite('TRL 1.13 GRPOTrainer', { 'objective.compat': 'trl' }),
  },
  unsupported: [
    EPOCHS,
    MICRO_BATCHES,
    DROPOUT,
    {
      what: 'vllm_importance_sampling_correction, sequence_mask up to 3',
      why: 'it is for vLLM, whose log-probs are not the trainer’s; here one decoder samples and trains. correction.* has it',
    },
  ],
};
