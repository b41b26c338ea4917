/** The three trainers of rookworld-trl: one step by hand, the later script, and TRL on one of the tasks. */
import { cite, type Preset } from './preset.js';

const GUIDE = 'rookworld-trl, guide of manual_grpo_debug.py';
const SCRIPT = 'rookworld-trl manual_grpo_debug.py';
const TRAIN_A = 'rookworld-trl train_a.py';
const TRL = 'TRL 0.22 GRPOConfig, the least version that rookworld-trl allows';

const MASTERS = {
  what: 'bfloat16 weights without float32 masters',
  why: 'an update below half a bfloat16 step changed nothing there; ours are made to float32 masters',
};
const PADDING = { what: 'pad token of the tokenizer, padded batches', why: 'a batch has no padding' };

export const rookworldManual: Preset = {
  summary: 'GPT-2 124M on chess, one step written by hand',
  values: {
    ...cite(GUIDE, {
      seed: 42,
      dtype: 'bfloat16',
      'train.steps': 1,
      'rollout.prompts': 4,
      'rollout.group': 4,
      'rollout.maxNewTokens': 256,
      'rollout.temperature': 0.5,
      'rollout.topP': 0.9,
      'rollout.keepSupport': false,
      'kl.beta': 0.1,
      'kl.estimator': 'k1',
      'kl.level': 'sequence_mean',
      'advantage.ddof': 1,
      'advantage.epsilon': 1e-4,
      'optimizer.learningRate': 1e-6,
      'optimizer.beta1': 0.9,
      'optimizer.beta2': 0.999,
      'optimizer.epsilon': 1e-8,
      'optimizer.weightDecay': 0,
      'optimizer.maxGradNorm': 1,
      'eval.samples': 2,
      'eval.temperature': 0.8,
    }),
    ...cite(`${GUIDE}: −A × log-prob of the completion / its length`, {
      'objective.loss': 'reinforce_with_baseline',
    }),
  },
  unsupported: [
    MASTERS,
    PADDING,
    {
      what: 'a reward of −0.5 where scoring fails, −1 in evaluation',
      why: 'a failure never becomes a number (onRewardError)',
    },
    {
      what: 'dropout in the policy’s pass',
      why: 'our decoder has none; it is what made log-probs differ from the reference at step 1',
    },
  ],
};

export const rookworldHead: Preset = {
  summary: 'The same script at its last version: full KL, entropy bonus, 50 steps',
  values: {
    ...cite(SCRIPT, {
      seed: 42,
      dtype: 'bfloat16',
      'train.steps': 50,
      'rollout.prompts': 4,
      'rollout.group': 12,
      'rollout.maxNewTokens': 128,
      'kl.beta': 0.005,
      'kl.estimator': 'full',
      'kl.warmupSteps': 20,
      'kl.warmup': 'zero',
      'kl.control': 'adaptive',
      'kl.target': 1,
      'kl.band': 0.05,
      'kl.up': 1.1,
      'kl.down': 0.9,
      'kl.most': 0.05,
      'entropy.coefficient': 0.005,
      'advantage.clip': 2,
      'optimizer.learningRate': 1e-7,
      'optimizer.schedule': 'advanced',
      'optimizer.warmupSteps': 20,
      'optimizer.maxGradNorm': 1,
      'eval.limit': 50,
      'eval.samples': 0,
    }),
    ...cite(`${SCRIPT}: deviations are bounded below at 1e-6 from the second step on`, {
      'advantage.floor': 1e-6,
      'advantage.epsilon': 0,
    }),
    ...cite(`${SCRIPT}: −A × log-prob of the completion / its length`, {
      'objective.loss': 'reinforce_with_baseline',
    }),
    ...cite(`${SCRIPT}, of its task P`, {
      'rollout.temperature': 0.7,
      'rollout.topP': 0.95,
      'rollout.keepSupport': false,
    }),
  },
  unsupported: [
    {
      what: 'β × KL was compared with the target',
      why: 'kl.control compares the KL itself: β × KL moves with β, and chases itself',
    },
    { what: 'another sampler for task A: temperature 1, top-p 0.98', why: 'all prompts are sampled alike' },
    {
      what: 'deviations bounded below at 0.05 in the first step',
      why: 'advantage.floor is one number for the whole run',
    },
    {
      what: 'text [GENERATION_FAILED] with reward −1',
      why: 'a failure never becomes a number (onRewardError)',
    },
    MASTERS,
    PADDING,
  ],
};

export const rookworldA: Preset = {
  summary: 'Its task A alone, with TRL',
  values: {
    ...cite(TRAIN_A, {
      seed: 42,
      dtype: 'bfloat16',
      'rollout.group': 16,
      'rollout.maxNewTokens': 144,
      'rollout.temperature': 0.7,
      'rollout.topP': 0.98,
      'rollout.keepSupport': false,
      'kl.beta': 0.02,
      'optimizer.learningRate': 2e-7,
      'optimizer.warmupSteps': 50,
      'optimizer.maxGradNorm': 1,
      'checkpoint.every': 100,
    }),
    ...cite(`${TRAIN_A}: batch 8, 16 generations, so one prompt is the least`, { 'rollout.prompts': 1 }),
    ...cite(TRL, {
      'objective.loss': 'dapo',
      'objective.oldLogprobs': 'detach',
      'kl.estimator': 'k3',
      'optimizer.schedule': 'linear',
      'advantage.scale': 'group',
      'advantage.epsilon': 1e-4,
    }),
    ...cite('TRL 0.22 GRPOTrainer', { 'objective.compat': 'trl-1.10' }),
  },
  unsupported: [
    {
      what: 'β warmed up over 10 steps and adapted to a KL of 0.15, up to 0.05',
      why: 'the callback set a value that the trainer no longer read: β was 0.02 all along, and is so here',
    },
    { what: 'one epoch', why: 'train.steps counts steps, whatever the size of the data' },
    MASTERS,
    PADDING,
  ],
};
