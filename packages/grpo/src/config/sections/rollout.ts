import { z } from 'zod';
import { ROLLOUT_ENGINES } from '../choices.js';
import { count, nonNegative, positive, positiveCount, probability } from './number-schemas.js';
import { environmentVariable, serverUrl } from './server-schemas.js';

/** How completions are sampled. */
export const rolloutSection = z.strictObject({
  prompts: positiveCount
    .default(8)
    .describe('Prompts per step: more steadies the gradient and takes proportionally longer')
    .meta({ unit: 'prompts per step' }),
  group: z
    .number()
    .int()
    .min(2)
    .default(8)
    .describe(
      'Completions of each prompt, compared with one another, so at least 2: more sharpens the advantage, less is faster',
    )
    .meta({ unit: 'completions per prompt' }),
  maxNewTokens: positiveCount
    .default(256)
    .describe('Tokens at which a completion is cut: more lets it finish, less is faster')
    .meta({ unit: 'tokens' }),
  minNewTokens: count
    .default(0)
    .describe('Tokens before which a completion cannot end: more forbids short answers')
    .meta({ unit: 'tokens' }),
  temperature: nonNegative
    .default(1)
    .describe('Divides the logits: more explores, less repeats itself, 0 is greedy (not for training)'),
  topP: z
    .number()
    .gt(0)
    .max(1)
    .default(1)
    .describe('Keeps the likeliest tokens up to this probability: less is safer and narrower, 1 = off')
    .meta({ unit: 'of the probability' }),
  topK: count
    .default(0)
    .describe('Keeps this many of the likeliest tokens: less is narrower, 0 = off')
    .meta({ unit: 'tokens' }),
  minP: probability
    .default(0)
    .describe(
      "Drops tokens below this fraction of the likeliest one's probability: more is narrower, 0 = off",
    )
    .meta({ unit: 'of the likeliest' }),
  keepSupport: z
    .boolean()
    .default(true)
    .describe(
      'Records for each token the ids that topP, topK and minP kept, and trains log-probs under softmax over them: ratios are exact. false scores over the whole vocabulary, as TRL does',
    ),
  repetitionPenalty: positive
    .default(1)
    .describe('Divides the positive logits of tokens generated before: more repeats less, 1 = off'),
  presencePenalty: z
    .number()
    .default(0)
    .describe('Taken once from the logit of each token generated before: more repeats less, 0 = off')
    .meta({ unit: 'nats' }),
  frequencyPenalty: z
    .number()
    .default(0)
    .describe('Taken from the logit for each time a token was generated: more repeats less, 0 = off')
    .meta({ unit: 'nats per occurrence' }),
  invariant: z
    .boolean()
    .default(false)
    .describe(
      'Asks for the same log-probs of a completion in any batch, to the bit. A CPU has them in float32 and bfloat16 anyway; where they cannot be had the run is refused',
    ),
  engine: z
    .enum(ROLLOUT_ENGINES)
    .default('own')
    .describe(
      'Where completions are sampled: own is this process, vllm and sglang are servers that speak their HTTP. grpo serve speaks both',
    ),
  urls: z
    .array(serverUrl)
    .min(1)
    .optional()
    .describe('Addresses of the servers, such as [http://127.0.0.1:8000]: prompts are spread over them'),
  apiKeyEnv: environmentVariable
    .optional()
    .describe(
      'Environment variable with the key of the servers, where they ask for one; it is never written',
    ),
  timeoutSeconds: positive
    .max(86_400)
    .default(600)
    .describe(
      'Within which a server must have answered a request, or taken new weights: more for long completions on slow servers',
    )
    .meta({ unit: 'seconds' }),
  weightsFolder: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Folder that new weights are handed to the servers in, at the same path for them. Memory (/dev/shm) for servers on this machine, the run's folder for others when not given",
    ),
});
