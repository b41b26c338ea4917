/** Assignment 5 of Stanford's CS336, and its off-policy variant. */
import { cite, type Preset } from './preset.js';

const SCRIPT = 'CS336 assignment 5, grpo_train_loop.py';
const HANDOUT = 'CS336 assignment 5, handout section 7';

const both = {
  ...cite(SCRIPT, {
    'train.steps': 200,
    'rollout.group': 8,
    'optimizer.learningRate': 1e-5,
    'advantage.scale': 'group',
    'eval.every': 5,
    'checkpoint.every': 10,
  }),
  ...cite(`${SCRIPT}: rollout_batch_size 256 in groups of 8`, { 'rollout.prompts': 32 }),
  ...cite(HANDOUT, {
    'rollout.temperature': 1,
    'rollout.topP': 1,
    'rollout.minNewTokens': 4,
    'rollout.maxNewTokens': 1024,
    'advantage.ddof': 1,
    'advantage.epsilon': 1e-6,
    'kl.beta': 0,
    'optimizer.beta1': 0.9,
    'optimizer.beta2': 0.95,
    'optimizer.weightDecay': 0,
    'optimizer.maxGradNorm': 1,
    'optimizer.schedule': 'constant',
    'eval.limit': 1024,
  }),
};

const unsupported = [
  { what: 'a second GPU with vLLM', why: 'one decoder samples and trains' },
  { what: 'W&B', why: 'it is not there yet; metrics.jsonl has the numbers' },
];

export const cs336: Preset = {
  summary: 'CS336 assignment 5, on-policy: REINFORCE with a group baseline on MATH',
  values: {
    ...both,
    ...cite(SCRIPT, { 'objective.loss': 'reinforce_with_baseline', 'objective.iterations': 1 }),
    ...cite(`${SCRIPT}: train_batch_size 256 of a rollout of 256`, { 'objective.minibatches': 1 }),
  },
  unsupported,
};

export const cs336OffPolicy: Preset = {
  summary: 'CS336 assignment 5, off-policy: four clipped passes over each rollout',
  values: {
    ...both,
    ...cite(`${SCRIPT}, its off-policy example`, {
      'objective.loss': 'grpo_clip',
      'objective.clipLow': 0.2,
      'objective.iterations': 4,
    }),
    ...cite(`${SCRIPT}, its off-policy example: train_batch_size 1024 read as 4 epochs of 256`, {
      'objective.minibatches': 1,
    }),
    ...cite(`${HANDOUT}: old log-probs are taken once a rollout`, { 'objective.oldLogprobs': 'recompute' }),
  },
  unsupported,
};
