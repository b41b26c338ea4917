import { handOverCheck } from '../hand-over.js';

export const h10 = handOverCheck({
  code: 'H10',
  handOver: 'run',
  name: 'run',
  title: 'Each step continues the run',
  wrong: 'The steps of the run do not follow each other',
  stage: 'data',
  level: 1,
  why: 'It follows from the declared settings alone, computed by code that shares nothing with what trains.',
  remedy: 'Look at the order of the data, at what a resume repeats, and at who else writes into the folder.',
  consequence: { rerun: 'GRPO', checkpointsVoid: true },
  proofs: ['native'],
});
