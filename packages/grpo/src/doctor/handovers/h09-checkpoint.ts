import { handOverCheck } from '../hand-over.js';

export const h09 = handOverCheck({
  code: 'H09',
  handOver: 'checkpoint',
  name: 'checkpoint',
  title: 'A checkpoint holds the state of the run',
  wrong: 'A checkpoint is not the state of the run that wrote it',
  stage: 'checkpoint',
  level: 1,
  remedy: 'Do not resume from this checkpoint; take the one before it, and look at the disk.',
  induces: ['B55'],
  proofs: ['native'],
});
