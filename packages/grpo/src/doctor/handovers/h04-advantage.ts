import { handOverCheck } from '../hand-over.js';

export const h04 = handOverCheck({
  code: 'H04',
  handOver: 'advantage',
  title: 'Advantages follow from the rewards as declared',
  wrong: 'Advantages are not those that the declared form gives',
  stage: 'advantage',
  level: 5,
  remedy: 'Look at the groups that rewards are compared in, and at the scale.',
  proofs: ['native', 'TRL run'],
});
