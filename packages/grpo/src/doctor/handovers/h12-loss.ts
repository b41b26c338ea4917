import { handOverCheck } from '../hand-over.js';

export const h12 = handOverCheck({
  code: 'H12',
  handOver: 'loss',
  title: 'The loss is the declared one',
  wrong: 'The loss is not the declared one',
  stage: 'loss',
  level: 6,
  remedy:
    'Look at what the loss is given, at its weights and what changes them from step to step, and at what is detached, clipped or masked in it.',
  proofs: ['native', 'TRL run'],
});
