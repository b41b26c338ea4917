import type { Rule } from './rule.js';

/** Corrections for the sampler, the KL and the entropy. */
export const weightingRules: readonly Rule[] = [
  {
    keys: ['correction.action', 'correction.measure', 'correction.level'],
    check: ({ correction: { level, measure, action } }) => {
      if (level === 'off' || action !== 'truncate') return undefined;
      if (measure === 'ratio' && level !== 'sequence_max') return undefined;
      const what =
        measure === 'ratio' ? 'the largest ratio of a completion' : `a distance (measure=${measure})`;
      return `truncate moves a weight to the bound, and ${what} is no weight. Use correction.action=mask or reject.`;
    },
  },
  {
    keys: ['correction.action', 'correction.min', 'correction.max'],
    check: ({ correction: { level, action, min, max } }) => {
      if (level === 'off' || action === 'truncate') return undefined;
      return min === undefined && max === undefined
        ? `action=${action} leaves out what is beyond the bounds, and there are none. Give correction.max, or correction.min too.`
        : undefined;
    },
  },
  {
    keys: ['kl.control', 'kl.target'],
    check: ({ kl: { control, target } }) =>
      control !== 'fixed' && target === undefined
        ? `control=${control} moves the weight of the KL towards a target, and there is none. Give kl.target, 0.1 for instance.`
        : undefined,
  },
  {
    keys: ['kl.beta', 'kl.least', 'kl.most'],
    check: ({ kl: { control, beta, least, most } }) =>
      control !== 'fixed' && (beta < least || beta > (most ?? beta))
        ? `the weight begins at ${beta}, outside of its bounds. Begin within them.`
        : undefined,
  },
  {
    keys: ['entropy.coefficient', 'entropy.least', 'entropy.most'],
    check: ({ entropy: { adaptive, coefficient, least, most } }) =>
      adaptive && (coefficient < least || coefficient > most)
        ? `the weight begins at ${coefficient}, outside of its bounds. Begin within them.`
        : undefined,
  },
  {
    keys: ['kl.place', 'kl.estimator'],
    check: ({ kl: { place, estimator } }) =>
      place === 'reward' && estimator === 'full'
        ? 'the KL in the reward is taken from the log-probs of what was sampled, and those of the whole vocabulary are not there. Use kl.estimator=k1.'
        : undefined,
  },
  {
    keys: ['kl.place', 'advantage.combine'],
    check: ({ kl: { place }, advantage: { combine } }) =>
      place === 'reward' && combine === 'normalize_then_sum'
        ? 'each reward is divided by its own deviation, the KL too, and its weight would have no effect. Use kl.place=loss.'
        : undefined,
  },
];
