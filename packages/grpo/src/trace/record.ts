/**
 * The step record: everything that is needed to explain one training step without the model.
 *
 * Letters of shapes: P prompts, B completions, T tokens of all completions as sampled, S tokens of all completions as
 * scored, K reward functions. Everything but the head may be missing; a check that needs what is missing says so.
 */
import { z } from 'zod';
import { bytes, doubles, floats, ints } from './arrays.js';
import { auditSchema } from './audit.js';
import { declaredSchema } from './declared.js';
import { diffusionSchema } from './diffusion.js';
import { probesSchema } from './probes.js';
import { listed, real } from './real.js';
import { serverSchema } from './servers.js';

const count = z.number().int().nonnegative();

const tokenizerSchema = z.object({
  vocabularySize: count.optional(),
  bosId: count.optional(),
  /** BOS tokens that a rendered prompt should begin with: 1 where the tokenizer or the template adds one, else 0. */
  expectedBos: count.optional(),
  padId: count.optional(),
  /** Tokens that end a completion: the tokenizer's, the generation settings' and the template's end of turn. */
  endIds: listed(count).optional(),
  /** Texts of the special tokens, by id. */
  specialTokens: z.record(z.string(), z.string()).optional(),
  /** Whether it can render conversations. */
  hasChatTemplate: z.boolean().optional(),
  /** Tokens that occur in the prompts and completions: their ids, and the bytes of each, one after another. */
  pieces: z.object({ ids: ints, bytes, lengths: ints }).optional(),
});

const promptsSchema = z.object({
  /** What was rendered: a text, or a conversation. `[P]` */
  messages: z.array(z.unknown()).optional(),
  /** As rendered, with special tokens. `[P]` */
  texts: z.array(z.string()).optional(),
  /** What the template puts before an assistant's answer; empty for plain text and where it puts nothing. */
  assistantHeader: z.string().optional(),
  /** The template's text between an assistant's answer and the next question. */
  afterAnswer: z.string().optional(),
  /** The row of the data, for its answer. `[P]` */
  rows: z.array(z.unknown()).optional(),
  /** The problem's reference answer, as text. `[P]` */
  answers: z.array(z.string().nullable()).optional(),
  /** Ids that the sampler was given, prompt after prompt. */
  ids: ints.optional(),
  /** `[P]` */
  lengths: ints.optional(),
  /** Parts of each prompt, as token ranges; `[P]` lists. */
  spans: z
    .array(z.array(z.object({ kind: z.string(), role: z.string().optional(), start: count, end: count })))
    .optional(),
  /**
   * The step whose policy sampled the group of each prompt, for groups replayed from an earlier one; 0 for those of this
   * step; all of this step when missing. `[P]`
   */
  replayed: ints.optional(),
  /** Ids that the scoring used for the prompt part, and their lengths. */
  scoredIds: ints.optional(),
  scoredLengths: ints.optional(),
});

const completionsSchema = z.object({
  /** The prompt that each belongs to. `[B]` */
  prompt: ints.optional(),
  /** As the reward functions got them. `[B]` */
  texts: z.array(z.string()).optional(),
  /** The sampled ids as text, without what the run leaves out of every text: the end token, or all special tokens. `[B]` */
  sampledTexts: z.array(z.string()).optional(),
  /** `stop`: an end token or stop string came; `length`: cut off. `[B]` */
  finish: z.array(z.string()).optional(),
  /** As sampled, the end token included. `[T]` */
  ids: ints.optional(),
  /** `[B]` */
  lengths: ints.optional(),
  /** 0 for a token of the model, the only ones that are trained on, 1 of a tool, 2 of the template. `[T]`; all from the model when missing. */
  source: bytes.optional(),
  /** Under softmax(logits / temperature), before truncation and penalties. `[T]` */
  samplerLogprobs: floats.optional(),
  /** Under the distribution that the token was drawn from. `[T]` */
  sampledLogprobs: floats.optional(),
  /** The ids that each token could have been drawn from, where top-k, top-p or min-p left less than all and they were kept. */
  support: z
    .object({
      /** Bytes of the sets of each completion; 0 for one drawn from the whole vocabulary. `[B]` */
      sizes: ints.optional(),
      /** Bytes of each set. `[T]` */
      lengths: ints.optional(),
      /** The sets, one after another, as `formats/token-sets.ts` codes them. */
      data: bytes.optional(),
    })
    .optional(),
  /** The server that sampled each, an index into `servers`, and the version of the weights that it says it had. `[B]` */
  server: ints.optional(),
  weightVersions: z.array(z.string()).optional(),
});

/** The same completions as the trainer scored them. */
const scoredSchema = z.object({
  /** `[S]` */
  ids: ints.optional(),
  /** `[B]` */
  lengths: ints.optional(),
  /** 1 where a token enters the loss. `[S]` */
  mask: bytes.optional(),
  /** Of the policy before the first update, where the objective keeps them. `[S]` */
  oldLogprobs: floats.optional(),
  referenceLogprobs: floats.optional(),
});

const rewardsSchema = z.object({
  /** `[K]` */
  names: z.array(z.string()).optional(),
  weights: listed(real).optional(),
  /** Reward after reward: `[K × B]`, NaN where there is no value. */
  values: doubles.optional(),
  /** What a reward's values are made of, NaN where a completion has none of it: each `[B]`. */
  parts: z.array(z.object({ reward: z.string(), part: z.string(), values: doubles })).optional(),
  /** The rule that decided, reward by reward, completion by completion. `[K][B]` */
  rules: z.array(z.array(z.string().nullable())).optional(),
  /** Weighted sums, NaN where a completion could not be scored. `[B]` */
  totals: doubles.optional(),
  /** What the functions were given: the text, or a list of messages. */
  inputType: z.enum(['text', 'messages']).optional(),
  failures: z
    .array(z.object({ reward: z.string(), completion: count.nullable(), reason: z.string() }))
    .optional(),
  /** Values that stand for a failure, such as −0.5. */
  fallbacks: listed(real).optional(),
  /** Who judged, completion by completion. `[B]` */
  providers: z.array(z.string()).optional(),
  /** A judge's words. `[B]` */
  replies: z.array(z.string().nullable()).optional(),
  seconds: real.optional(),
});

/** One optimizer update. Its per-token arrays follow the scored tokens of its completions, in their order. */
const updateSchema = z.object({
  /** All when missing. */
  completions: ints.optional(),
  /** Which pass over the rollout it belongs to, from 0; the first when missing. */
  iteration: count.optional(),
  /** The mask, and the log-probs of old policy and reference, where they are not those of `scored`: with masks of its own. */
  mask: bytes.optional(),
  oldLogprobs: floats.optional(),
  referenceLogprobs: floats.optional(),
  policyLogprobs: floats.optional(),
  entropies: floats.optional(),
  /** Policy to old policy, as the loss used it. */
  ratios: floats.optional(),
  /** Terms of the loss a token, before weights: the policy's, and the KL without β. */
  policyTerms: floats.optional(),
  klTerms: floats.optional(),
  /** What each token's term is multiplied by in the sum that is the loss. */
  weights: floats.optional(),
  /** The same for the KL term, where it is weighted otherwise. */
  klWeights: floats.optional(),
  /** What the KL terms are multiplied by beside their weights: 1 where these have β in them; that declared when missing. */
  beta: real.optional(),
  /** Of the entropy bonus; that declared when missing. */
  entropyCoefficient: real.optional(),
  /** The divisor that made the weights, where there is one for all. */
  normalizer: real.optional(),
  loss: real.optional(),
  /** Parts of the loss: each enters it as coefficient × value. */
  components: z.array(z.object({ name: z.string(), coefficient: real, value: real })).optional(),
  /** `sizes`: completions of each that was executed, in the order of `completions`. */
  microBatches: z.object({ executed: count, configured: count, sizes: listed(count).optional() }).optional(),
  learningRate: real.optional(),
  /** Of the whole gradient before clipping. */
  gradNorm: real.optional(),
  /** By parameter group. */
  gradNorms: z.record(z.string(), real).optional(),
  /** Share of trainable tensors whose gradient is all zero or missing. */
  zeroGradients: real.optional(),
  /** Norm of the change of the master weights, and the share of their elements that changed. */
  updateNorm: real.optional(),
  changedShare: real.optional(),
  /** Share of the master weights' elements with a gradient that did not change. */
  lostShare: real.optional(),
  /** Share of elements that changed in the weights that the forward pass reads (bfloat16, for instance). */
  changedWeightShare: real.optional(),
  /** Cosine between the update and the negative gradient. */
  descent: real.optional(),
  /** Root mean square of what the update changed, and of the weights before it, over elements with a gradient. */
  moved: real.optional(),
  size: real.optional(),
  /** At the first update after a checkpoint: updates that were made before, and how many of them the optimizer had counted. */
  resumed: z.object({ made: count, counted: count }).optional(),
  /** Checksums of the weights that it left, by rank, where several processes train. */
  weightChecksums: listed(count).optional(),
});

/** The version of a step record that this grpo writes; a change of the record's shape raises it. */
export const RECORD_VERSION = 3;

/** Those that it reads. Texts stood in the JSON in version 2; nothing else differs. */
export const READ_VERSIONS: readonly number[] = [2, RECORD_VERSION];

/** @see docs/step-record.md */
export const stepRecordSchema = z.object({
  format: z.literal('grpo-step'),
  version: z.literal(RECORD_VERSION),
  /** Counted from 1. */
  step: count,
  producer: z.object({ name: z.string(), version: z.string().optional() }),
  versions: z.record(z.string(), z.string()).optional(),
  seed: real.optional(),
  declared: declaredSchema.optional(),
  /** The producer's own configuration, as it wrote it. */
  settings: z.unknown().optional(),
  tokenizer: tokenizerSchema.optional(),
  prompts: promptsSchema.optional(),
  completions: completionsSchema.optional(),
  scored: scoredSchema.optional(),
  rewards: rewardsSchema.optional(),
  /** `[B]` */
  advantages: doubles.optional(),
  /** Of a masked-diffusion model; a causal one has none. */
  diffusion: diffusionSchema.optional(),
  updates: z.array(updateSchema).optional(),
  /** Those that sampled, where another process did. */
  servers: z.array(serverSchema).optional(),
  stages: z.array(z.object({ name: z.string(), seconds: real, bytes: real.optional() })).optional(),
  probes: probesSchema.optional(),
  audit: auditSchema.optional(),
});

/** One step, read: numbers as typed arrays. */
export interface StepRecord extends z.output<typeof stepRecordSchema> {
  /** The same completions as rows of another file tell them, where the run has both. */
  rows?: StepRecord;
}
export type UpdateRecord = z.output<typeof updateSchema>;
