import { handOverCheck } from '../hand-over.js';

export const h13 = handOverCheck({
  code: 'H13',
  handOver: 'kl',
  title: 'The KL in the loss is the declared one',
  wrong: 'The KL in the loss is not the declared one',
  stage: 'kl',
  level: 6,
  remedy: 'Look at the estimate of the KL, at what of it is detached, and at β.',
  proofs: ['native'],
});
