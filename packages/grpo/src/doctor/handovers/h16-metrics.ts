import { handOverCheck } from '../hand-over.js';

export const h16 = handOverCheck({
  code: 'H16',
  handOver: 'metrics',
  title: 'A step reports what it did',
  wrong: 'A reported number is not that of the step',
  stage: 'configuration',
  level: 8,
  remedy:
    'Look at how this number is computed: what it is taken over, before or after what, and by what it is multiplied.',
  consequence: { rerun: 'nothing', checkpointsVoid: false },
  proofs: ['native'],
});
