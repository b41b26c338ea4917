import { handOverCheck } from '../hand-over.js';

export const h06 = handOverCheck({
  code: 'H06',
  handOver: 'gradient',
  title: 'The gradient is that of the loss',
  wrong: 'The gradient is not that of the loss',
  stage: 'logprob',
  level: 7,
  remedy:
    'Where a tensor is named, look at what detaches, masks or scales between it and the log-probs, or in its layer. Where all gradients have one scale, look at what the loss is divided by: completions, tokens, micro-batches; of adapters also at their factor, alpha / rank. Where neither is so, look at what clips, scales or zeroes gradients between micro-batches.',
  proofs: ['native', 'TRL run'],
});
