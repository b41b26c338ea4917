import { handOverCheck } from '../hand-over.js';

export const h08 = handOverCheck({
  code: 'H08',
  handOver: 'weights',
  name: 'weights',
  title: 'Sampler and reference use the weights that they should',
  wrong: 'Sampler or reference do not use the weights that they should',
  stage: 'weight sync',
  level: 1,
  remedy:
    'Look at what copies weights to the sampler, at what may change the reference, and at what loads or averages weights between two steps.',
  proofs: ['native'],
});
