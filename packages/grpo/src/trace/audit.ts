/** Numbers of a step beside those of an independent plain path, measured by the trainer and judged by the doctor. */
import { z } from 'zod';
import { real } from './real.js';

/** What a stage hands to the next, in the order of a step. */
export const HAND_OVERS = [
  /** Row of data → prompt text → ids. */
  'prompt',
  /** Prompt → completion: the sampler and its log-probs. */
  'completion',
  /** Ids of a completion → the text that is graded. */
  'text',
  /** Completion → reward. */
  'reward',
  /** Groups and completions of the step, and of earlier ones → those that are learnt from. */
  'choice',
  /** Rewards → advantages. */
  'advantage',
  /** Weights that sampled → log-probs of the old policy and of the reference. */
  'old log-probs',
  /** Log-probs of policy and reference → the KL in the loss. */
  'kl',
  /** Advantages, masks and log-probs → loss, and how it changes with each log-prob. */
  'loss',
  /** Loss → gradient of every tensor. */
  'gradient',
  /** Gradient → weights. */
  'update',
  /** Weights → sampler and reference. */
  'weights',
  /** Weights → checkpoint → the run that goes on from it. */
  'checkpoint',
  /** Steps → run. */
  'run',
  /** Weights → completions of held-out problems → accuracy. */
  'evaluation',
  /** Folder of a model → model in memory. */
  'model',
  /** Step → the numbers that it reports. */
  'metrics',
] as const;

export type HandOver = (typeof HAND_OVERS)[number];

const count = z.number().int().nonnegative();

const comparisonSchema = z.object({
  handOver: z.enum(HAND_OVERS),
  /** The number that is compared, as a noun: `log-prob of the sampler`. */
  quantity: z.string(),
  /** How many such numbers were compared; the rest tells of the one that lies furthest off, measured by its bound. */
  compared: count,
  found: z.union([real, z.string()]),
  plain: z.union([real, z.string()]),
  /** Distance of the two; 1 for texts that differ, 0 for texts that are equal. */
  deviation: real,
  /** Largest deviation that rounding or chance explains. */
  bound: real,
  /** What it is of: the name of a tensor, or a token with its numbers. */
  tensor: z.string().optional(),
  /** Where it is, as far down as can be told. */
  prompt: count.optional(),
  completion: count.optional(),
  token: count.optional(),
  /** The computation, as a noun, that gives all of them as they were found, where the declared one does not. */
  explained: z.string().optional(),
  /** Those that lie further apart than their bounds, and what they have in common. */
  off: z
    .object({
      pairs: count,
      /** Found ÷ plain, where it is the same for all of them. */
      factor: real.optional(),
      /** In how many completions they are, and in how many there were any. */
      completions: z.tuple([count, count]).optional(),
      /** The same of tensors. */
      tensors: z.tuple([count, count]).optional(),
      /** Some of these tensors, where it is not all. */
      names: z.array(z.string()).optional(),
      /** The least place of a token among them. */
      firstToken: count.optional(),
    })
    .optional(),
});

/**
 * Begins the quantity of comparisons that set the log-likelihood of the draws at another temperature (`found`) beside that
 * of the declared one (`plain`).
 */
export const LIKELIHOOD = 'log-likelihood of the draws at the declared temperature ×';

/** The quantity of the first tokens that are not sure, where log-probs of the sampler do not hold: no cache has a part in token 0. */
export const FIRST_TOKEN = 'log-prob of the sampler of a first token';

/** The quantity that tells whether the optimizer holds what the model trains. */
export const HELD_TENSOR = 'tensor of the optimizer';

/** The quantity that tells whether something changed a weight between two updates. */
export const LEFT_WEIGHT = 'weight that the step before left';

/** Names the comparison of what the gradient of the entropy is multiplied by in the gradient: −c where the bonus has the coefficient c. */
export const ENTROPY_SHARE = 'share of the entropy in the gradient';

/** By so much a likelihood at one of four other temperatures is the larger one by chance once in 10⁹ runs. */
export const CHANCE_NATS = Math.log(4e9);

export const auditSchema = z.object({
  /** The completions that were computed again. */
  completions: z.array(count),
  comparisons: z.array(comparisonSchema),
  /** Hand-overs that could not be compared, and for want of what. */
  missing: z.array(z.object({ handOver: z.enum(HAND_OVERS), what: z.string() })),
});

export type Comparison = z.output<typeof comparisonSchema>;
export type AuditRecord = z.output<typeof auditSchema>;
