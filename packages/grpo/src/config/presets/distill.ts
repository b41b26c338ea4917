import { cite, type Preset } from './preset.js';

const GKD = 'GKD (Agarwal et al., 2024), section 3: λ = 1, all on the samples of the student';

export const distill: Preset = {
  summary:
    "On-policy distillation: the KL to teacher.model on the policy's own completions, and nothing else",
  values: {
    ...cite(`${GKD}; β = 1: the reverse KL of each token over the whole vocabulary`, {
      'kl.beta': 1,
      'kl.estimator': 'full',
      'kl.place': 'loss',
      'kl.level': 'token',
    }),
    ...cite(`${GKD}; no reward: its section 3.1 adds one`, { 'advantage.weight': 0 }),
    ...cite('Thinking Machines (Lu, 2025), On-Policy Distillation: at temperature 1', {
      'rollout.temperature': 1,
    }),
    ...cite('DAPO (Yu et al., 2025), section 3.3: every token counts alike', { 'objective.loss': 'dapo' }),
  },
  unsupported: [],
};
