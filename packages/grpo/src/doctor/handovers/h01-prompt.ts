import { handOverCheck } from '../hand-over.js';

export const h01 = handOverCheck({
  code: 'H01',
  handOver: 'prompt',
  title: 'Prompt ids are those of the row',
  wrong: 'A prompt is not what its row of data says',
  stage: 'template',
  level: 1,
  remedy: "Compare the prompt's text and ids with the row: template, special tokens, and what was cut.",
  proofs: ['native'],
});
