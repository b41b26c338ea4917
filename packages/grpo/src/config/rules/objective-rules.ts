import { rewardName } from '../reward-kinds.js';
import { inert, usesOldPolicy } from './inert.js';
import type { Rule } from './rule.js';

/** The objective, and the groups and advantages that it learns from. */
export const objectiveRules: readonly Rule[] = [
  {
    keys: ['train.repeatBatch', 'groups.refills'],
    check: ({ train, groups }) =>
      train.repeatBatch && groups.refills > 0
        ? 'a batch that is repeated takes no further problems. Take one of the two out.'
        : undefined,
  },
  {
    keys: ['objective.oldLogprobs', 'objective.iterations', 'objective.minibatches'],
    check: (config) => {
      const { oldLogprobs, iterations, minibatches } = config.objective;
      return oldLogprobs === 'detach' && iterations * minibatches > 1 && usesOldPolicy(config)
        ? `${iterations * minibatches} updates from one rollout need old log-probs of their own: with detach the ratio would stay 1 and nothing would be clipped. Use objective.oldLogprobs=recompute or sampler.`
        : undefined;
    },
  },
  ...inert.flatMap(({ keys, beside, because }) =>
    keys.map(
      (key): Rule => ({
        keys: [...new Set([key, ...beside])],
        check: (config, { given }) => {
          const why = given(key) ? because(config, key) : undefined;
          return why && `${key} has no effect: ${why}. Take it out, or change the other.`;
        },
      }),
    ),
  ),
  {
    keys: ['rollout.prompts', 'objective.minibatches'],
    check: ({ rollout: { prompts }, objective: { minibatches } }) =>
      prompts % minibatches !== 0
        ? `${prompts} prompts do not split into ${minibatches} minibatches of whole groups. Make prompts a multiple of minibatches.`
        : undefined,
  },
  {
    keys: ['groups.overlongBuffer', 'rollout.maxNewTokens'],
    check: ({ groups: { overlongBuffer }, rollout: { maxNewTokens } }) =>
      overlongBuffer > maxNewTokens
        ? `a buffer of ${overlongBuffer} tokens does not fit into completions of at most ${maxNewTokens}. Lower it.`
        : undefined,
  },
  {
    keys: ['groups.overlongBuffer', 'rewards'],
    check: ({ groups: { overlongBuffer }, rewards }) =>
      overlongBuffer > 0 && rewards.some((reward) => rewardName(reward) === 'overlong')
        ? "the buffer makes a reward named 'overlong', and one of yours has that name. Give yours another name."
        : undefined,
  },
  ...(['objective.compat', 'groups.overlongBuffer', 'kl.place'] as const).map(
    (key): Rule => ({
      keys: ['advantage.scale', key],
      check: ({ advantage, objective, groups, kl }) => {
        if (advantage.scale !== 'mean' || advantage.combine === 'normalize_then_sum') return undefined;
        const isBeside = {
          'objective.compat': objective.compat !== undefined && 'TRL has no such scale',
          'groups.overlongBuffer':
            groups.overlongBuffer > 0 && 'the penalty of the buffer makes rewards below 0',
          'kl.place':
            kl.beta > 0 && kl.place === 'reward' && 'a KL that is taken from the reward makes it less than 0',
        }[key];
        return isBeside
          ? `${isBeside}, and scale=mean is for rewards of 0 and 1. Use advantage.scale=group, or take ${key} out.`
          : undefined;
      },
    }),
  ),
  ...(['refills', 'replay'] as const).map(
    (key): Rule => ({
      keys: [`groups.${key}`, 'advantage.baseline'],
      check: ({ groups, advantage }) =>
        groups[key] > 0 && advantage.baseline === 'none'
          ? `without a baseline a group of equal rewards is learnt from as any other, so groups.${key} would take away what is wanted. Use a baseline, or groups.${key}=0.`
          : undefined,
    }),
  ),
  ...(['refills', 'replay'] as const).map(
    (key): Rule => ({
      keys: [`groups.${key}`, 'advantage.combine'],
      check: ({ groups, advantage }) =>
        groups[key] > 0 && advantage.combine === 'normalize_then_sum'
          ? `rewards that are compared one by one may differ where their sums are equal, and groups.${key} looks at the sums. Use advantage.combine=sum_then_normalize, or groups.${key}=0.`
          : undefined,
    }),
  ),
  {
    keys: ['objective.policy', 'objective.ratio', 'objective.module'],
    check: ({ objective: { policy, ratio, module } }) =>
      ratio === 'none' && policy !== 'reinforce' && module === undefined
        ? `the policy term ${policy} is one of a ratio. Use objective.ratio=token or sequence, or objective.policy=reinforce.`
        : undefined,
  },
  {
    keys: ['groups.replay', 'objective.oldLogprobs'],
    check: ({ groups, objective }) =>
      groups.replay > 0 && objective.oldLogprobs === 'detach'
        ? 'replayed groups were sampled by an earlier policy, and detach would compare them with the current one. Use objective.oldLogprobs=sampler or recompute.'
        : undefined,
  },
  {
    keys: ['groups.replay', 'objective.policy', 'objective.module'],
    check: ({ groups, objective: { policy, module } }) =>
      groups.replay > 0 && policy === 'reinforce' && module === undefined
        ? 'replayed groups were sampled by an earlier policy, and reinforce does not compare with it. Use a loss with a ratio, such as objective.loss=grpo.'
        : undefined,
  },
  {
    keys: ['groups.replay', 'kl.place'],
    check: ({ groups, kl }) =>
      groups.replay > 0 && kl.place === 'reward'
        ? 'a KL in the reward is that of the policy that sampled, which for replayed groups is gone. Use kl.place=loss.'
        : undefined,
  },
  {
    keys: ['diffusion.estimator', 'diffusion.maskRates'],
    check: ({
      diffusion: {
        estimator,
        maskRates: [least, most],
      },
    }) => {
      if (least > most) return `the least share, ${least}, is above the largest, ${most}. Swap them.`;
      return estimator === 'coupled' && most === 1
        ? 'where all is hidden the other half is empty, and its weight 1 / (1 - rate) has no value. Use a largest share below 1.'
        : undefined;
    },
  },
];
