import { z } from 'zod';
import { judgeSection } from './judge.js';
import { nonNegative, positive, positiveCount } from './number-schemas.js';

/** The rewards that need no module. */
export const BUILTIN_REWARDS = [
  'think-format',
  'accuracy',
  'cosine-length',
  'repetition',
  'overlong',
] as const;

export type BuiltinReward = (typeof BUILTIN_REWARDS)[number];

const tier = z.strictObject({
  missed: nonNegative.describe('Taken from the reward, times the part missed'),
  over: nonNegative.describe('Taken from the reward, times the part over'),
});

const reward = z.strictObject({
  module: z
    .string()
    .min(1)
    .optional()
    .describe('TypeScript or JavaScript file whose default export scores completions'),
  builtin: z.enum(BUILTIN_REWARDS).optional().describe('A reward that needs no module, in its place'),
  model: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Reward model in place of a module: folder or ORG/NAME of a sequence classifier with one label, of GPT-2, Llama, Qwen 2 or Qwen 3',
    ),
  judge: judgeSection
    .optional()
    .describe('A language model on a server in place of a module, that scores completions or ranks a group'),
  name: z
    .string()
    .min(1)
    .optional()
    .describe('Name in the metrics. That of the file, the model or the built-in when not given, or judge'),
  weight: z
    .number()
    .default(1)
    .describe('Factor in the weighted sum: 0 logs the reward without training on it'),
  timeoutSeconds: positive
    .optional()
    .describe(
      'module: seconds that one batch may take, in a worker: more tolerates slow graders. No limit when not given',
    ),
  components: z
    .record(z.string().min(1), z.number())
    .optional()
    .describe('module: weights of the parts that it returns; their weighted sum becomes the reward'),
  tiers: z
    .record(z.string().min(1), tier)
    .optional()
    .describe(
      "module and judge: by the tier of a row, what the parts missed and over (0 to 1) take from the reward: {A: {missed: 1, over: 0}}; tiers as LABEL:SHA1 of the row's question are verified",
    ),
  tierKey: z
    .string()
    .min(1)
    .optional()
    .describe('With tiers: field of a row that holds its tier. tier when not given'),
  maxTokens: positiveCount
    .optional()
    .describe(
      'cosine-length: tokens from which length counts no more; overlong: tokens from which a completion costs 1',
    ),
  correctShort: z
    .number()
    .optional()
    .describe('cosine-length: reward of a right answer without tokens. 1 when not given'),
  correctLong: z
    .number()
    .optional()
    .describe('cosine-length: reward of a right answer of maxTokens. 0.5 when not given'),
  wrongShort: z
    .number()
    .optional()
    .describe('cosine-length: reward of a wrong answer without tokens. -1 when not given'),
  wrongLong: z
    .number()
    .optional()
    .describe('cosine-length: reward of a wrong answer of maxTokens. -0.5 when not given'),
  ngram: positiveCount
    .optional()
    .describe('repetition: tokens of an n-gram that counts as repeated. 3 when not given'),
  maxPenalty: z
    .number()
    .max(0)
    .optional()
    .describe('repetition: reward of a completion that only repeats itself. -1 when not given'),
  buffer: positiveCount
    .optional()
    .describe('overlong: tokens before maxTokens over which the punishment grows'),
});

/** The user's own reward functions, built-in ones and reward models. */
export const rewardsList = z
  .array(reward)
  .default([])
  .describe(
    'Your rewards: [{module: FILE}, {builtin: NAME}, {model: FOLDER}, {judge: {baseURL, model, prompt}}], each with a weight, added to what task.grading rewards; needed with task.grading=none',
  );
