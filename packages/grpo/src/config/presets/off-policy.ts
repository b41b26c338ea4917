/** Recipes for policies that drift from the one that sampled, as their papers and programs give them. */
import { cite, type Preset } from './preset.js';

const DPPO = 'DPPO (Qi et al., 2026, arXiv 2602.04879)';
const VERL = 'verl RolloutCorrectionConfig';
const PRIME = 'prime-rl IPOLossConfig, as of prime-rl#3586 (September 2026)';
const MAXRL = 'MaxRL (Tajwar et al., 2026, arXiv 2602.02710)';

/** Ratios are to old log-probs of the trainer, weights from these to the sampler. */
const decoupled = (source: string) =>
  cite(`${source}: old log-probs are computed by the trainer, the sampler’s enter the weights`, {
    'objective.oldLogprobs': 'recompute',
  });
const MASKED = {
  what: 'tokens that are left out of the mean that is the loss',
  why: 'they are 0 in the sum, and the mean is over all trained tokens',
};

export const dppo: Preset = {
  summary: 'DPPO: tokens are left out by how far their probability moved, not by a ratio',
  values: {
    ...cite(`${DPPO}, eqs. 11 to 13`, { 'objective.loss': 'dppo_tv' }),
    ...cite(`${DPPO}, experiments, as TRL’s DPPOConfig has it`, { 'objective.divergenceLow': 0.15 }),
    ...cite(`${DPPO}, the authors’ code in verl: clip_ratio_c`, { 'objective.cap': 20 }),
    ...cite(`${DPPO}, section 5: the region is around the policy that sampled`, {
      'objective.oldLogprobs': 'sampler',
    }),
  },
  unsupported: [
    {
      what: 'divergences over the K likeliest tokens',
      why: 'the two outcomes “this token” and “any other” need no log-probs of other tokens; the paper finds them as good',
    },
    {
      what: 'several updates per rollout, of a number that depends on the run',
      why: 'objective.minibatches stays 1; with more the region has an effect',
    },
  ],
};

export const maxRl: Preset = {
  summary: 'MaxRL: rewards of 0 and 1, divided by their mean: hard problems weigh more',
  values: { ...cite(`${MAXRL}, Algorithm 1`, { 'advantage.baseline': 'group', 'advantage.scale': 'mean' }) },
  unsupported: [
    {
      what: 'rewards other than 0 and 1',
      why: 'the paper derives the mean as a share of right answers only; a reward below 0 stops the run',
    },
  ],
};

export const icePop: Preset = {
  summary: 'IcePop: tokens whose trainer and sampler disagree by a ratio are left out',
  values: {
    ...cite(`IcePop (Ring-1T, 2025, arXiv 2510.18855), with the bounds of ${VERL}.decoupled_token_icepop`, {
      'correction.level': 'token',
      'correction.action': 'mask',
      'correction.min': 0.5,
      'correction.max': 5,
    }),
    ...decoupled('IcePop'),
  },
  unsupported: [],
};

export const kPop: Preset = {
  summary: 'KPop: tokens whose trainer and sampler disagree by a KL of two outcomes are left out',
  values: {
    ...cite('KPop by AReaL, docs/en/algorithms/grpo_series.md', {
      'correction.level': 'token',
      'correction.measure': 'binary_kl',
      'correction.action': 'mask',
      'correction.max': 2,
    }),
    ...cite('KPop by AReaL, examples/math/gsm8k_kpop.yaml', {
      'objective.clipLow': 0.4,
      'advantage.whiten': true,
      'rollout.group': 4,
      'rollout.maxNewTokens': 1024,
      'rollout.prompts': 256,
      'optimizer.learningRate': 1.7e-5,
      'optimizer.weightDecay': 0.017,
      'optimizer.schedule': 'constant',
      'kl.beta': 0,
    }),
    ...decoupled('KPop'),
  },
  unsupported: [],
};

export const verlK3: Preset = {
  summary:
    'Rejection by k3, as verl has it: completions far from their sampler are left out, none is weighed',
  values: {
    ...cite(`${VERL}.decoupled_k3_rs`, {
      'correction.level': 'sequence_mean',
      'correction.measure': 'k3',
      'correction.action': 'reject',
      'correction.max': 0.01,
    }),
    ...decoupled(VERL),
  },
  unsupported: [MASKED],
};

export const primeRl: Preset = {
  summary: 'The default loss of prime-rl, IPO: tokens whose probability differs by 0.3 are left out',
  values: {
    ...cite(PRIME, {
      'correction.level': 'token',
      'correction.measure': 'probability',
      'correction.action': 'mask',
      'correction.max': 0.3,
      'kl.beta': 0,
    }),
    ...cite('prime-rl docs/algorithms.md: one update per rollout, a mean over all tokens', {
      'objective.loss': 'dapo',
      'objective.oldLogprobs': 'detach',
    }),
    ...cite('prime-rl docs/algorithms.md, grpo: the reward minus the mean of its group', {
      'advantage.scale': 'none',
    }),
  },
  unsupported: [
    {
      what: 'rollouts that are one step behind the trainer',
      why: 'a rollout is sampled from the policy that learns from it',
    },
    {
      what: 'kl_tau × (log ratio)², which was 1e-3 until prime-rl#3586',
      why: 'the default is 0 since; a KL to the starting model is kl.beta with kl.estimator=k2',
    },
  ],
};
