import { cite, type Preset } from './preset.js';

const QUICK = 'nano_gpt GRPO guide, quick test';
const DEFAULTS = 'nano_gpt GRPO guide';

export const quick: Preset = {
  summary: 'A first look: ten steps of one group of four',
  values: {
    ...cite(QUICK, { 'rollout.group': 4, 'train.steps': 10 }),
    ...cite(`${QUICK}: batch 1, no accumulation`, { 'rollout.prompts': 1 }),
    ...cite(DEFAULTS, {
      seed: 1337,
      'rollout.temperature': 0.8,
      'rollout.topP': 0.95,
      'rollout.keepSupport': false,
      'kl.beta': 0.1,
      'kl.estimator': 'k1',
      'kl.level': 'sequence_sum',
      'optimizer.learningRate': 1e-5,
      'optimizer.beta1': 0.9,
      'optimizer.beta2': 0.95,
      'optimizer.weightDecay': 0.1,
      'optimizer.maxGradNorm': 1,
    }),
    ...cite(`${DEFAULTS}: −A × summed log-prob`, { 'objective.loss': 'reinforce_sum' }),
    ...cite(`${DEFAULTS}: less the mean of the group, then standardized over the batch`, {
      'advantage.scale': 'none',
      'advantage.whiten': true,
    }),
  },
  unsupported: [
    {
      what: 'masked diffusion: tokens are filled in, not continued',
      why: 'it trains any model; seed-003 is for masked-diffusion models',
    },
    {
      what: 'warm-up of 100 steps, a cosine to 1e-6 over 10,000',
      why: 'ten steps are over before it begins; the learning rate is constant',
    },
    {
      what: 'log-probs at temperature 1 of what was sampled at 0.8',
      why: 'log-probs are those of the sampling temperature',
    },
    {
      what: 'groups of identical completions are left out',
      why: 'they have advantages of 0; advantage.flat=drop leaves them out',
    },
  ],
};
