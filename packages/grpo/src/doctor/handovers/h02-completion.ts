import { handOverCheck } from '../hand-over.js';

export const h02 = handOverCheck({
  code: 'H02',
  handOver: 'completion',
  name: 'completion',
  title: 'Completions are draws from the declared distribution',
  wrong: 'Completions are not drawn from the declared distribution of their prompt',
  stage: 'generation',
  level: 2,
  why: 'It follows from the declared settings alone, computed by code that shares nothing with what trains.',
  remedy:
    'Look at the sampler: its temperature and truncation, its cache, and which prompt a completion belongs to.',
  consequence: { rerun: 'GRPO', checkpointsVoid: true },
  proofs: ['native'],
});
