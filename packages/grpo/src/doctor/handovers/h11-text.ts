import { handOverCheck } from '../hand-over.js';

export const h11 = handOverCheck({
  code: 'H11',
  handOver: 'text',
  title: 'Texts are what the ids of completions stand for',
  wrong: 'The text that is graded is not that of the sampled ids',
  stage: 'tokens',
  level: 2,
  remedy: 'Look at what decodes: which end tokens it leaves out, and whether other special tokens stay.',
  proofs: ['native'],
});
