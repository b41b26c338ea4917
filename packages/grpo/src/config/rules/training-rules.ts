import { usesLora } from '../sections/lora.js';
import type { Rule } from './rule.js';

/** Adapters, moving references, and the learning rate. */
export const trainingRules: readonly Rule[] = [
  {
    keys: ['lora.dropout'],
    check: ({ lora: { dropout } }, { command }) =>
      command === 'train' && dropout > 0
        ? 'GRPO compares the log-probs of its updates with those of the sampler, which leaves nothing out: ratios would not be 1 where nothing has changed. Take it out; it is for sft and expert.'
        : undefined,
  },
  {
    keys: ['kl.referenceEvery', 'kl.referenceMix', 'lora.rank', 'lora.adapter'],
    check: (config) =>
      usesLora(config) && config.kl.referenceEvery > 0 && config.kl.referenceMix < 1
        ? 'a mean of two adapters is not the adapter of the mean, so a reference with adapters can only become the policy. Use kl.referenceMix=1.'
        : undefined,
  },
  {
    keys: ['kl.warmupSteps', 'train.steps'],
    check: ({ kl: { warmupSteps }, train: { steps } }) =>
      warmupSteps > steps
        ? `a warm-up of ${warmupSteps} steps never ends within ${steps}. Lower it.`
        : undefined,
  },
  {
    keys: ['optimizer.minLearningRate'],
    check: (config, { command }) => {
      const key = command === 'train' ? 'optimizer.learningRate' : 'sft.learningRate';
      const { learningRate } = command === 'train' ? config.optimizer : config.sft;
      const { minLearningRate } = config.optimizer;
      return minLearningRate > learningRate
        ? `a learning rate cannot fall from ${key}=${learningRate} to ${minLearningRate}. Lower it.`
        : undefined;
    },
  },
  {
    keys: ['optimizer.warmupSteps'],
    check: ({ optimizer, train, sft, expert }, { command }) => {
      const [key, steps] =
        command === 'sft'
          ? ['sft.steps', sft.steps]
          : command === 'expert'
            ? ['expert.iterations', expert.iterations]
            : ['train.steps', train.steps];
      return optimizer.warmupSteps > steps
        ? `a warm-up of ${optimizer.warmupSteps} steps never ends within ${key}=${steps}. Lower it.`
        : undefined;
    },
  },
];
