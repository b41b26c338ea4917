import { z } from 'zod';
import { count, nonNegative, positive, positiveCount } from './number-schemas.js';

/** AdamW and its schedule. */
export const optimizerSection = z.strictObject({
  learningRate: nonNegative
    .default(1e-6)
    .describe('Step size: more learns faster, too much destroys the model')
    .meta({ unit: 'per step' }),
  beta1: z
    .number()
    .min(0)
    .lt(1)
    .default(0.9)
    .describe('Memory of the gradient mean: more is smoother and slower to turn'),
  beta2: z.number().min(0).lt(1).default(0.999).describe('Memory of the squared gradient: more is steadier'),
  epsilon: positive
    .default(1e-8)
    .describe('Added to the denominator: more damps parameters with tiny gradients'),
  weightDecay: nonNegative
    .default(0)
    .describe('Shrinks weights at each step, times the learning rate: 0 = off')
    .meta({ unit: 'of the weights' }),
  maxGradNorm: nonNegative
    .default(1)
    .describe('Gradients are scaled down to this norm: less tames outliers and slows learning, 0 = off'),
  schedule: z
    .enum(['constant', 'linear', 'cosine', 'step', 'advanced'])
    .default('constant')
    .describe(
      'Learning rate after the warm-up: constant; falling to 0 at the last step, linearly or along half a cosine; step, halved after each third; or advanced, along a cosine to 5 % over 70 % of the steps, then linearly to 0',
    ),
  minLearningRate: nonNegative
    .default(0)
    .describe('Learning rate at the end of a falling schedule, in place of 0: more keeps learning to the end')
    .meta({ unit: 'per step' }),
  warmupSteps: count
    .default(0)
    .describe('Steps over which the learning rate rises from 0: more starts gentler')
    .meta({ unit: 'steps' }),
});

/** Length of the GRPO run, and its memory. */
export const trainSection = z.strictObject({
  steps: positiveCount.default(100).describe('GRPO steps: one rollout each').meta({ unit: 'steps' }),
  repeatBatch: z
    .boolean()
    .default(false)
    .describe(
      'Each step takes the problems of the first one: whether the reward of one batch can be raised at all. Evaluations and other problems show nothing of it',
    ),
  log: z
    .enum(['steps', 'micro'])
    .default('steps')
    .describe(
      'Lines of a step: steps, one; micro, also one after sampling, after scoring, after each micro-batch and after each update, with memory, seconds since the step began, rewards, and the loss with its parts',
    ),
  microBatchTokens: positiveCount
    .default(1024)
    .describe(
      'Tokens in one forward and backward pass, as near as whole groups come to it; a group of up to twice as many is not cut. More takes more memory and is faster, above all where a group does not fit; same gradient',
    )
    .meta({ unit: 'tokens' }),
  recompute: z
    .enum(['none', 'layers', 'auto'])
    .default('auto')
    .describe(
      "Activations that the backward pass computes again: none; layers, all but each layer's input, which takes the memory of one layer in place of all and a third more time; or auto, where they do not fit. Same gradient",
    ),
  canaries: count
    .default(100)
    .describe(
      'Steps between checks, the first before step 1, that the rewards pay right answers more than blanks, copied prompts, all options at once and answers of other rows: costs one scoring of some 70 completions; judges are not asked. 0 = never',
    )
    .meta({ unit: 'steps' }),
  kindGradients: count
    .default(0)
    .describe(
      'Steps between comparisons of the gradients of the kinds of problems (kl.kindKey), as grad_cosine and grad_norm/KIND: costs a copy of the gradient for each kind but one, and no pass. 0 = never',
    )
    .meta({ unit: 'steps' }),
});

/** Supervised fine-tuning on demonstrations. */
export const sftSection = z.strictObject({
  steps: positiveCount.default(100).describe('SFT steps: one optimizer step each'),
  batchSize: positiveCount
    .default(32)
    .describe('Demonstrations per step: more steadies the gradient and is slower'),
  learningRate: nonNegative.default(1e-5).describe('Step size of SFT, in place of optimizer.learningRate'),
});

/** Expert iteration: rounds of sampling, keeping the good completions and SFT on them. */
export const expertSection = z.strictObject({
  iterations: positiveCount
    .default(10)
    .describe('Rounds of sampling rollout.prompts × rollout.group and SFT'),
  threshold: z
    .number()
    .optional()
    .describe(
      'Completions with at least this total reward are kept: more keeps fewer and better ones. The right ones when not given',
    ),
  perProblem: positiveCount
    .optional()
    .describe(
      'Most completions kept per problem, those with the highest reward: fewer keep easy problems from crowding out hard ones. All when not given',
    ),
  unique: z
    .boolean()
    .default(false)
    .describe(
      'Keeps one of several equal completions of a problem: rare ones weigh more, likely ones less than in the samples',
    ),
  epochs: positiveCount
    .default(1)
    .describe('SFT passes over the kept completions of a round: more learns more from each, and overfits'),
});
