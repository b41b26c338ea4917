import { handOverCheck } from '../hand-over.js';

export const h09 = handOverCheck({
  code: 'H09',
  handOver: 'checkpoint',
  title: 'A checkpoint holds the state of the run',
  wrong: 'A checkpoint is not the state of the run that wrote it',
  stage: 'checkpoint',
  level: 1,
  remedy:
    'Look at what saves and what loads the state: weights, moments, counts, random numbers; then at the disk. Until then take the checkpoint before this one.',
  induces: ['B55'],
  proofs: ['native'],
});
