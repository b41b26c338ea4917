import { handOverCheck } from '../hand-over.js';

export const h15 = handOverCheck({
  code: 'H15',
  handOver: 'model',
  name: 'model',
  title: 'The model in memory is that of its folder',
  wrong: 'The model in memory is not that of its folder',
  stage: 'configuration',
  level: 1,
  why: 'It follows from the files of the folder alone, read by code that shares nothing with what loads them.',
  remedy:
    'Look at what reads the folder: names and number type of the tensors, the ids that end a completion, the template, the tokens, the factor and the layers of the adapters.',
  proofs: ['native'],
});
