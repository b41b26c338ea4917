/** Combinations of settings that are known to do something else than they seem to. */

import type { Config } from '../schema.js';
import { PENALTIES, truncates } from './inert.js';

export interface Caution {
  /** `unsound`: it is wrong, or known to harm; `note`: it is as published, and good to know. */
  level: 'unsound' | 'note';
  keys: readonly string[];
  /** One sentence. */
  why: string;
  source?: string;
}

interface Check extends Caution {
  holds(config: Config): boolean;
}

const updates = ({ objective: { iterations, minibatches } }: Config) => iterations * minibatches;

/** Whether completions are drawn from another distribution than the model's, of whatever tokens. */
const isPenalized = ({ rollout }: Config) =>
  rollout.repetitionPenalty !== 1 || rollout.presencePenalty !== 0 || rollout.frequencyPenalty !== 0;

const penalizes = ({ kl }: Config, place: 'loss' | 'reward') => kl.beta > 0 && kl.place === place;

const checks: readonly Check[] = [
  {
    level: 'unsound',
    keys: ['advantage.baseline', 'advantage.scale'],
    holds: ({ advantage: { baseline, scale, floor } }) =>
      baseline === 'none' && !['none', 'mean'].includes(scale) && floor === 0,
    why: 'Without a baseline equal rewards are divided by epsilon alone: a group that is all right gets advantages of thousands.',
  },
  {
    level: 'unsound',
    keys: ['kl.estimator', 'kl.place'],
    holds: (config) => penalizes(config, 'loss') && config.kl.estimator === 'k1',
    why: 'The gradient of k1 in the loss is not that of the KL: on-policy its expectation is 0, so β adds noise and holds nothing.',
    source: 'Tang and Munos, 2025, "On a few pitfalls in KL divergence gradient estimation for RL"',
  },
  {
    level: 'unsound',
    keys: ['kl.estimator', 'kl.place'],
    holds: (config) => penalizes(config, 'reward') && !['k1', 'full'].includes(config.kl.estimator),
    why: 'In the reward only k1 gives the gradient of the KL; the other estimates have its value, not its gradient.',
    source: 'Liu et al., 2025, "Rethinking KL Regularization in RLHF"',
  },
  {
    level: 'unsound',
    keys: ['kl.level', 'kl.estimator'],
    holds: ({ kl }) => kl.beta > 0 && kl.level === 'sequence_sum' && kl.estimator === 'k3',
    why: 'k3 of summed log-probs is an exponential of a sum over all tokens: its variance explodes with the length.',
    source: 'Schulman, 2020, "Approximating KL divergence"',
  },
  {
    level: 'unsound',
    keys: ['objective.ratio', 'objective.aggregation'],
    holds: ({ objective: { policy, ratio, aggregation } }) =>
      policy !== 'reinforce' &&
      ratio === 'sequence' &&
      ['token_mean', 'micro_token_mean', 'constant'].includes(aggregation),
    why: 'One ratio a completion is averaged over tokens: long completions weigh more, which GSPO does not want.',
    source: 'GSPO (Zheng et al., 2025), eq. 5; TRL warns of it too',
  },
  {
    level: 'unsound',
    keys: ['objective.policy', 'objective.iterations', 'objective.minibatches'],
    holds: (config) => config.objective.policy === 'reinforce' && updates(config) > 1,
    why: 'After the first update the policy is no longer the one that sampled, and a loss without a ratio ignores the difference.',
    source: 'CS336 assignment 5, handout section 7: off-policy training takes grpo_clip',
  },
  {
    level: 'unsound',
    keys: ['rollout.topP', 'rollout.topK', 'rollout.minP', 'rollout.keepSupport'],
    holds: ({ rollout }) => truncates(rollout) && !rollout.keepSupport,
    why: 'Completions are drawn from a part of the vocabulary, while log-probs, ratio and correction are those of the whole one: every ratio to the sampler is off by the probability that was cut away, which rollout.keepSupport=true mends.',
    source: 'DeepSeek-V3.2 (2025), section 3.1; huggingface/trl#7269: at top-p 0.8 a mean ratio of 0.896',
  },
  {
    level: 'unsound',
    keys: PENALTIES.map((name) => `rollout.${name}`),
    holds: isPenalized,
    why: 'Completions are drawn from a penalized distribution, while log-probs, ratio and correction are those of the model without penalties: the gradient is that of another sampler.',
    source: 'grpo-dual: sampled with penalties, scored without',
  },
  {
    level: 'unsound',
    keys: ['advantage.flat'],
    holds: ({ advantage }) => advantage.flat === 'raw' && advantage.baseline !== 'none',
    why: 'A flat group gets its rewards as advantages: all of its completions are pushed the same way, right or wrong.',
    source: 'grpo-dual, which took it back',
  },
  {
    level: 'unsound',
    keys: ['advantage.epsilon', 'advantage.floor', 'advantage.flatBelow'],
    holds: ({ advantage: { scale, epsilon, floor, flatBelow } }) =>
      !['none', 'mean'].includes(scale) && Math.max(epsilon, floor, flatBelow) < 1e-8,
    why: 'Nothing damps the division by the deviation: rewards that differ by rounding get advantages of full size.',
  },
  {
    level: 'note',
    keys: ['advantage.scale'],
    holds: ({ advantage }) => advantage.scale === 'mean',
    why: 'The mean reward of a group is the share of right answers where rewards are 0 and 1, and nothing else is derived: of graded rewards it weighs groups by their level, with a small reward for the form an all-wrong group gets advantages as large as any, and a reward below 0 stops the run.',
    source: 'MaxRL (Tajwar et al., 2026, arXiv 2602.02710), which assumes binary rewards',
  },
  {
    level: 'note',
    keys: ['objective.policy', 'objective.oldLogprobs'],
    holds: ({ objective: { policy, oldLogprobs } }) => /^dppo/.test(policy) && oldLogprobs !== 'sampler',
    why: 'The trust region is around the trainer’s own old log-probs, so a gap between sampler and trainer is not in it: DPPO measures from the policy that sampled (objective.oldLogprobs=sampler).',
    source: 'DPPO (Qi et al., 2026, arXiv 2602.04879), section 5',
  },
  {
    level: 'note',
    keys: ['objective.aggregation', 'train.microBatchTokens'],
    holds: ({ objective }) => objective.aggregation === 'micro_token_mean',
    why: 'Tokens of a short micro-batch weigh more than those of a long one: the loss depends on how train.microBatchTokens cuts the update.',
    source: 'TRL GRPOConfig, loss_type bnpo',
  },
  {
    level: 'note',
    keys: ['objective.aggregation'],
    holds: ({ objective }) => objective.aggregation === 'sequence_mean',
    why: 'A token of a long completion weighs less than one of a short one: long wrong answers are punished less.',
    source: 'Dr. GRPO (Liu et al., 2025), section 3.1',
  },
  {
    level: 'note',
    keys: ['objective.iterations', 'objective.minibatches'],
    holds: (config) => updates(config) === 1 && config.objective.policy !== 'reinforce',
    why: 'With one update from a rollout the ratio is 1, up to rounding: no clip, cap or gate acts, and the clip metrics stay 0.',
    source: 'TRL GRPOTrainer, num_iterations 1',
  },
  {
    level: 'note',
    keys: ['kl.control'],
    holds: ({ kl }) => kl.beta > 0 && kl.control !== 'fixed',
    why: 'β follows the KL itself, never β × KL, which moves with β and chases itself.',
    source: 'rookworld-trl, whose controller compared β × KL with the target',
  },
];

/** Cautions about a configuration, the worst first. */
export function cautionsOf(config: Config): Caution[] {
  return checks.filter(({ holds }) => holds(config)).map(({ holds: _, ...caution }) => caution);
}
