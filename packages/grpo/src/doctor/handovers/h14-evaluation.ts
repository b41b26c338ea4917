import { handOverCheck } from '../hand-over.js';

export const h14 = handOverCheck({
  code: 'H14',
  handOver: 'evaluation',
  title: 'An evaluation tells what the weights do on the held-out problems',
  wrong: 'An evaluation is not that of its weights on the held-out problems',
  stage: 'evaluation',
  level: 8,
  why: 'It follows from the declared settings alone, computed by code that shares nothing with what evaluates.',
  remedy:
    'Look at which problems are evaluated and which are trained on, at the weights and the temperature of the greedy completions, and at the rows that they are graded with.',
  consequence: { rerun: 'evaluation', checkpointsVoid: false },
  proofs: ['native'],
});
