/** What only a live model can tell, measured by the trainer and written down so that checks stay pure. */
import { z } from 'zod';
import { real } from './real.js';

/** Largest and mean absolute difference between two arrays of log-probs, and of how many tokens. */
const differenceSchema = z.object({ mean: real, max: real, tokens: z.number().int() });

export const probesSchema = z.object({
  /** The same completions scored twice with the same weights. */
  repeatedScoring: differenceSchema.optional(),
  /** A row scored alone, without padding or neighbours, and in the batch. */
  aloneInBatch: differenceSchema.optional(),
  /** The sampler's log-probs and the trainer's at other temperatures. */
  temperatures: z.array(differenceSchema.extend({ temperature: real })).optional(),
  /**
   * One completion scored plainly, by itself and in one pass, for want of agreement between trainer and sampler: how far
   * each of them is from it. `shift` 1 takes the logits after a token, in place of those before it. Where its tokens have a
   * support, they are scored over it; `support` names other ids: all of them, or those of the token before or after.
   */
  plainScoring: z
    .array(
      z.object({
        temperature: real,
        shift: z.number().int(),
        support: z.enum(['whole', 'before', 'after']).optional(),
        policy: differenceSchema,
        sampler: differenceSchema,
      }),
    )
    .optional(),
  /** Rewards of completions whose grade is known, through the production path. */
  canaries: z
    .array(
      z.object({
        /** Such as those of {@link CANARY}. */
        kind: z.string(),
        /** A reward, {@link TOTAL}, {@link PART} of it, or `isCorrect`: what the task says, 1 or 0. */
        reward: z.string(),
        /** null where it has none. */
        value: real.nullable(),
        /** Least and greatest value that is right; without them nothing is known of it. */
        least: real.optional(),
        most: real.optional(),
        /** Those of equal numbers are of one row of the data. */
        row: z.number().int().optional(),
        /** Where the value is not right: the reward that decided, and its rule. */
        rule: z.string().optional(),
      }),
    )
    .optional(),
  /** Gradient of the update in one pass, and split into micro-batches. */
  accumulation: z.object({ cosine: real, normRatio: real }).optional(),
  /** Change of Σ A·log p after one tiny step along the policy term alone, and of the entropy along the bonus alone. */
  tinyStep: z.object({ objectiveChange: real.optional(), entropyChange: real.optional() }).optional(),
  /** Whether the generator of random numbers stood, at the beginning or after the rewards, where it stood there in an earlier rollout. */
  reseeded: z.boolean().optional(),
  /** Parameters of rewards that are empty by default, and that the data has no column for. */
  unfilled: z.array(z.object({ reward: z.string(), parameter: z.string() })).optional(),
  /**
   * Different held-out prompts, how many of them are trained on, too, how many but for white space and case (`alike`), and how many have other parts than any prompt that is
   * trained on: other roles, or a text in place of messages. `answers`: how many `distinct` reference answers so many held-out
   * `rows` have, the `least` that 10,000 draws of as many rows of the training data have, and the one that most of them have.
   */
  heldOut: z
    .object({
      prompts: z.number().int(),
      trained: z.number().int(),
      alike: z.number().int().optional(),
      unlike: z.number().int().optional(),
      answers: z
        .object({
          rows: z.number().int(),
          distinct: z.number().int(),
          least: z.number().int(),
          answer: z.string(),
          has: z.number().int(),
        })
        .optional(),
    })
    .optional(),
  /** Prompts of the data that have a number for an answer, how many have two different ones, and one of these. */
  contradictions: z
    .object({
      prompts: z.number().int(),
      contradicted: z.number().int(),
      prompt: z.string().optional(),
      answers: z.array(real).optional(),
    })
    .optional(),
  /** Tokens of the prompts whose embedding no checkpoint has, and whether training changes it. */
  added: z.array(z.object({ token: z.string(), id: z.number().int(), trained: z.boolean() })).optional(),
  /** Settings that are others than when training began. */
  changedSettings: z.array(z.object({ name: z.string(), from: z.string(), to: z.string() })).optional(),
  /** Whether the sampler is told to take the likeliest token. */
  greedy: z.boolean().optional(),
  /** Beams that are searched for a completion; 1 where it is sampled. */
  beams: z.number().int().optional(),
  /** Reward models whose head for scores was in no checkpoint: its weights are random. */
  headless: z.array(z.string()).optional(),
  /** Whether adapters were added to the weights, where they get no gradient. */
  merged: z.boolean().optional(),
  /** Tensors that are to be trained and that no group of the optimizer has. */
  leftOut: z.array(z.string()).optional(),
  /** Whether the schedule of the learning rate sets the rates of another optimizer than the one that trains. */
  schedulesAnother: z.boolean().optional(),
  /** Tensors that ask for a gradient. */
  trainable: z.number().int().optional(),
  /** Rewards that gave the same completions other values when they were called again. */
  unstable: z.array(z.string()).optional(),
  /**
   * Completions of the step `since`, graded again by each reward, in this step: how many earn something else, and of the
   * one that changed most what it earned then and now.
   */
  drift: z
    .array(
      z.object({
        reward: z.string(),
        since: z.number().int(),
        graded: z.number().int(),
        changed: z.number().int(),
        earned: real.nullable().optional(),
        earns: real.nullable().optional(),
      }),
    )
    .optional(),
  /**
   * Completions of rewards that give them something else alone than among the others of the batch: how many were graded, how
   * many changed, what the one that changed most earned, and earns alone, and whether all of the batch earned the same.
   */
  together: z
    .array(
      z.object({
        reward: z.string(),
        graded: z.number().int(),
        changed: z.number().int(),
        earned: real.nullable().optional(),
        earns: real.nullable().optional(),
        equal: z.boolean(),
      }),
    )
    .optional(),
  /**
   * Reference answers of several rows of the data, each written as a paid completion is and graded with its row: how many a
   * reward pays less than half of that, and one of them.
   */
  golds: z
    .array(
      z.object({
        reward: z.string(),
        graded: z.number().int(),
        unpaid: z.number().int(),
        answer: z.string().optional(),
        /** Whether the rows are those of the evaluation. */
        heldOut: z.boolean().optional(),
      }),
    )
    .optional(),
  /** How often the data was gone through at the end of the step. */
  epoch: real.optional(),
  /** Rewards that are 0 for every completion: of some that have line breaks, how many earn more without them. */
  lineBreaks: z
    .array(z.object({ reward: z.string(), graded: z.number().int(), earned: z.number().int() }))
    .optional(),
  /** Rows of the data that were fetched during this rollout, and not sampled from. */
  skipped: z.number().int().optional(),
  /** How often the batch was sampled again, and only one of these was trained on. */
  discarded: z.number().int().optional(),
  /** The metric of the evaluation by which the run keeps its best checkpoint, or lowers its rate where it is no better. */
  bestBy: z
    .object({ metric: z.string(), greaterIsBetter: z.boolean(), lowersRate: z.boolean().optional() })
    .optional(),
  /** Checksums of the weights of policy and reference before the update, where both have the same tensors. */
  checksums: z.object({ policy: real, reference: real }).optional(),
});

export type Probes = z.output<typeof probesSchema>;
export type Difference = z.output<typeof differenceSchema>;
