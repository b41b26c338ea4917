/** Recipes as their papers give them. */
import { cite, type Preset } from './preset.js';

const R1 = 'DeepSeek-R1 (Nature, 2025), Methods';
const DAPO = 'DAPO (Yu et al., 2025), section 4.1';
const DR_GRPO = 'Dr. GRPO (Liu et al., 2025)';
const GSPO = 'GSPO (Zheng et al., 2025), section 5.1';
const CISPO = 'MiniMax-M1 (2025)';
const SCALE = 'ScaleRL (Khatri et al., 2025), by the TRL paper index';
const RLOO = 'RLOO (Ahmadian et al., 2024)';

export const r1: Preset = {
  summary: 'DeepSeek-R1-Zero: GRPO with a small KL and a clip that hardly clips',
  values: {
    ...cite(R1, {
      'objective.loss': 'grpo',
      'kl.beta': 0.001,
      'kl.estimator': 'k3',
      'objective.clipHigh': 10,
      'rollout.group': 16,
      'rollout.maxNewTokens': 32_768,
      'rollout.temperature': 1,
      'optimizer.learningRate': 3e-6,
      'objective.iterations': 1,
    }),
    ...cite(`${R1}: ε = 10; a ratio is never below 0, so that 1 is the same`, { 'objective.clipLow': 1 }),
    ...cite(`${R1}: 8,192 outputs, 16 a question`, { 'rollout.prompts': 512 }),
    ...cite(`${R1}: the reference is replaced every 400 steps of one update`, {
      'kl.referenceEvery': 400,
      'kl.referenceMix': 1,
    }),
    ...cite(`${R1}: split into 16 minibatches`, { 'objective.minibatches': 16 }),
    ...cite('DeepSeekMath (Shao et al., 2024), eq. 3: the ratio is taken to the policy that sampled', {
      'objective.oldLogprobs': 'recompute',
    }),
  },
  unsupported: [
    {
      what: 'maximum length 65,536 after step 8,200',
      why: 'rollout.maxNewTokens is one number for the whole run',
    },
    { what: 'minibatches of outputs drawn at random', why: 'minibatches are of whole groups' },
  ],
};

export const dapo: Preset = {
  summary: 'DAPO: a wider upper clip, token mean, no KL',
  values: {
    ...cite(DAPO, {
      'objective.loss': 'dapo',
      'objective.clipLow': 0.2,
      'objective.clipHigh': 0.28,
      'rollout.prompts': 512,
      'rollout.group': 16,
      'rollout.maxNewTokens': 20_480,
      'optimizer.learningRate': 1e-6,
      'optimizer.schedule': 'constant',
      'optimizer.warmupSteps': 20,
      'groups.overlongBuffer': 4096,
      'eval.samples': 32,
      'eval.temperature': 1,
    }),
    ...cite(`${DAPO}: minibatches of 512, 16 updates a rollout`, { 'objective.minibatches': 16 }),
    ...cite('DAPO (Yu et al., 2025), section 2.3', { 'kl.beta': 0 }),
    ...cite('DAPO (Yu et al., 2025), section 3.2: dynamic sampling; the bound is that of verl’s recipe', {
      'groups.refills': 10,
    }),
    ...cite('DAPO (Yu et al., 2025), section 3.4: overlong filtering', { 'objective.maskTruncated': true }),
    ...cite('DAPO (Yu et al., 2025), eq. 8: the ratio is taken to the policy that sampled', {
      'objective.oldLogprobs': 'recompute',
    }),
  },
  unsupported: [{ what: 'evaluation at top-p 0.7', why: 'evaluation samples with rollout.topP' }],
};

export const drGrpo: Preset = {
  summary: 'Dr. GRPO: no division by length or deviation',
  values: {
    ...cite(`${DR_GRPO}, section 3.2`, { 'objective.loss': 'dr_grpo', 'advantage.scale': 'none' }),
    ...cite(`${DR_GRPO}, training script of its repository`, {
      'rollout.group': 8,
      'rollout.maxNewTokens': 3000,
      'kl.beta': 0,
    }),
  },
  unsupported: [],
};

export const gspo: Preset = {
  summary: 'GSPO: one ratio for each completion, clipped very closely',
  values: {
    ...cite(GSPO, {
      'objective.loss': 'gspo',
      'objective.clipLow': 3e-4,
      'objective.clipHigh': 4e-4,
      'objective.minibatches': 4,
    }),
    ...cite('GSPO (Zheng et al., 2025), eq. 7: the ratio is taken to the policy that sampled', {
      'objective.oldLogprobs': 'recompute',
    }),
    ...cite('GSPO, by the TRL paper index', { 'kl.beta': 0 }),
  },
  unsupported: [],
};

export const cispo: Preset = {
  summary: 'CISPO: the ratio is capped, and capped tokens keep their gradient',
  values: {
    ...cite(`${CISPO}, eq. 4`, { 'objective.loss': 'cispo', 'kl.beta': 0 }),
    ...cite(`${CISPO}, section 3.2`, {
      'optimizer.beta1': 0.9,
      'optimizer.beta2': 0.95,
      'optimizer.epsilon': 1e-15,
    }),
    ...cite(SCALE, { 'objective.cap': 5, 'rollout.group': 16, 'advantage.scale': 'batch' }),
    ...cite(`${CISPO}, eq. 4: the ratio is taken to the policy that sampled`, {
      'objective.oldLogprobs': 'recompute',
    }),
  },
  unsupported: [
    {
      what: 'several updates a rollout, of a number that is not given',
      why: 'objective.minibatches stays 1; with more the cap has an effect',
    },
    { what: 'the last projection in float32', why: 'it has the dtype of the weights' },
  ],
};

export const rloo: Preset = {
  summary: 'RLOO: REINFORCE on whole completions, with the mean of the others as baseline',
  values: {
    ...cite(`${RLOO}, section 3`, {
      'objective.loss': 'reinforce_sum',
      'advantage.baseline': 'leave_one_out',
      'advantage.scale': 'none',
      'kl.place': 'reward',
      'kl.estimator': 'k1',
      'kl.level': 'sequence_sum',
    }),
    ...cite(`${RLOO}, section C, TL;DR`, { 'kl.beta': 0.03, 'optimizer.learningRate': 1e-6 }),
    ...cite(`${RLOO}, experiments with 2 and 4 completions`, { 'rollout.group': 4 }),
  },
  unsupported: [
    {
      what: 'batches of 512 that serve two updates',
      why: 'rollout.prompts and objective.minibatches keep their defaults: the model decides what fits',
    },
  ],
};
