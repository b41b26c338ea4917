import { handOverCheck } from '../hand-over.js';

export const h07 = handOverCheck({
  code: 'H07',
  handOver: 'update',
  name: 'update',
  title: 'The optimizer does what its settings say',
  wrong: 'The weights did not change as the declared optimizer changes them',
  stage: 'optimizer',
  level: 7,
  remedy:
    'Look at learning rate, clipping, weight decay, moments, what is kept in float32 beside half precision, and the list of tensors that the optimizer holds and saves.',
  proofs: ['native', 'TRL run'],
});
