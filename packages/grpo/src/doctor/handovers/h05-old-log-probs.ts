import { handOverCheck } from '../hand-over.js';

export const h05 = handOverCheck({
  code: 'H05',
  handOver: 'old log-probs',
  title: 'Old and reference log-probs are those of the weights that sampled',
  wrong: 'Old or reference log-probs are not those of their weights',
  stage: 'logprob',
  level: 3,
  remedy:
    'Look at which weights, which temperature and which tokens the old log-probs and those of the reference come from; where a layer is named, at what it computes.',
  proofs: ['native', 'TRL run'],
});
