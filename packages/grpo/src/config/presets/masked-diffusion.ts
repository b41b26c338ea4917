/** Recipes for masked-diffusion models. */
import { cite, type Preset } from './preset.js';

const D1 = 'd1 (Zhao et al., 2025)';
const D1_CODE = 'd1, diffu-grpo/slurm_scripts/train.yaml';
const CODER = 'DiffuCoder (Gong et al., 2025)';
const CODER_CODE = 'DiffuCoder, recipes/config_coupled_code.yaml';
const GUIDE = 'nano_gpt GRPO guide';

const PER_COMPLETION = 'loss divided by the tokens of each micro-batch';
const OVER_UPDATE =
  'objective.loss=dapo divides by those of the update, so that micro-batches change nothing';

export const diffuGrpo: Preset = {
  summary:
    'A masked-diffusion model, as d1: one pass with the completion hidden, and other masks of the prompt each time',
  values: {
    ...cite(`${D1}, section 3.2`, {
      'diffusion.estimator': 'd1',
      'diffusion.promptMaskRate': 0.15,
      'objective.oldLogprobs': 'recompute',
    }),
    ...cite(`${D1}, eq. 2: the reward less the mean of its group`, { 'advantage.scale': 'none' }),
    ...cite(D1_CODE, {
      'objective.iterations': 12,
      'objective.clipLow': 0.5,
      'kl.beta': 0.04,
      'kl.estimator': 'k3',
      'rollout.group': 6,
      'rollout.maxNewTokens': 256,
      'rollout.temperature': 0.9,
      'diffusion.blockLength': 32,
      'diffusion.steps': 128,
      'diffusion.remasking': 'low_confidence',
      'optimizer.learningRate': 3e-6,
      'optimizer.beta1': 0.9,
      'optimizer.beta2': 0.99,
      'optimizer.weightDecay': 0.1,
      'optimizer.maxGradNorm': 0.2,
      'lora.rank': 128,
      'lora.alpha': 64,
    }),
    ...cite(`${D1_CODE}: the mean over tokens`, { 'objective.loss': 'dapo' }),
  },
  unsupported: [
    { what: PER_COMPLETION, why: OVER_UPDATE },
    {
      what: 'a mask of the prompt for each completion',
      why: 'a group has one mask of its prompt, so that its completions share the pass',
    },
    {
      what: 'log-probs at temperature 1 of what was sampled at 0.9',
      why: 'log-probs are those of the sampling temperature',
    },
    { what: 'LoRA with dropout 0.05', why: 'the policy would be scored in another way than it samples' },
    { what: 'weights in 4 bits', why: 'weights are float32 or bfloat16' },
  ],
};

export const coupledGrpo: Preset = {
  summary:
    'A masked-diffusion model, as DiffuCoder: two passes hide complementary places, so that each token is estimated',
  values: {
    ...cite(`${CODER}, section 4.2`, {
      'diffusion.estimator': 'coupled',
      'objective.oldLogprobs': 'recompute',
    }),
    ...cite(`${CODER}, section 4.2: the share that is hidden is drawn between these`, {
      'diffusion.maskRates': [0.2, 0.8],
    }),
    ...cite(CODER_CODE, {
      'objective.iterations': 2,
      'objective.clipLow': 0.5,
      'kl.beta': 0.01,
      'kl.estimator': 'k3',
      'kl.referenceEvery': 64,
      'advantage.scale': 'none',
      'rollout.group': 10,
      'rollout.maxNewTokens': 256,
      'rollout.temperature': 1,
      'diffusion.steps': 256,
      'optimizer.learningRate': 1e-6,
      'optimizer.beta1': 0.9,
      'optimizer.beta2': 0.99,
      'optimizer.weightDecay': 0.1,
      'optimizer.maxGradNorm': 0.2,
      'optimizer.schedule': 'cosine',
    }),
    ...cite(`${CODER_CODE}: a tenth of the learning rate`, { 'optimizer.minLearningRate': 1e-7 }),
    ...cite('TRL GRPOConfig, ref_model_mixup_alpha', { 'kl.referenceMix': 0.6 }),
    ...cite(`${CODER_CODE}: the mean over tokens`, { 'objective.loss': 'dapo' }),
  },
  unsupported: [
    { what: PER_COMPLETION, why: OVER_UPDATE },
    {
      what: 'places are kept by the entropy of their distribution',
      why: 'diffusion.remasking=low_confidence keeps them by the probability of the token',
    },
  ],
};

export const seed003: Preset = {
  summary: 'A masked-diffusion model that fills all places at once, judged by a sequence classifier',
  values: {
    ...cite(GUIDE, {
      seed: 1337,
      'train.steps': 10_000,
      'train.log': 'micro',
      'checkpoint.every': 100,
      'rollout.group': 8,
      'rollout.temperature': 0.8,
      'rollout.topP': 0.95,
      'kl.beta': 0.1,
      'kl.estimator': 'k1',
      'kl.level': 'sequence_sum',
      'optimizer.learningRate': 1e-5,
      'optimizer.minLearningRate': 1e-6,
      'optimizer.schedule': 'cosine',
      'optimizer.warmupSteps': 100,
      'optimizer.beta1': 0.9,
      'optimizer.beta2': 0.95,
      'optimizer.weightDecay': 0.1,
      'optimizer.maxGradNorm': 1,
      dtype: 'bfloat16',
    }),
    ...cite(`${GUIDE}: a batch of 1, accumulated 16 times`, { 'rollout.prompts': 16 }),
    ...cite(`${GUIDE}: one pass fills every masked place, and is scored from the same mask`, {
      'diffusion.steps': 1,
      'diffusion.estimator': 'sum_masked',
      'diffusion.maskRates': [1, 1],
    }),
    ...cite(`${GUIDE}: −A × summed log-prob`, { 'objective.loss': 'reinforce_sum' }),
    ...cite(`${GUIDE}: less the mean of the group, then standardized over the batch`, {
      'advantage.scale': 'none',
      'advantage.whiten': true,
    }),
  },
  unsupported: [
    {
      what: 'a judge that scores 1 − what a sequence classifier says, from 0 to 1',
      why: 'rewards are yours: rewards=[{model: FOLDER}] is a sequence classifier, a module may turn its score round',
    },
    {
      what: 'masked places anywhere in a text',
      why: 'a completion is what follows a prompt: diffusion.maskRates hides all of it',
    },
    {
      what: 'advantages standardized over each micro-batch, which is one group',
      why: 'advantage.whiten standardizes over all groups of a step',
    },
    {
      what: 'log-probs at temperature 1 of what was sampled at 0.8',
      why: 'log-probs are those of the sampling temperature',
    },
    {
      what: 'micro-steps without a masked place are left out, and nothing is normalized again',
      why: 'every completion has masked places',
    },
  ],
};
