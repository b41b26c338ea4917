import { z } from 'zod';
import { count, nonNegative, positive, positiveCount } from './number-schemas.js';

const provider = {
  baseURL: z
    .string()
    .min(1)
    .describe(
      'Address of the server: requests go to {baseURL}/chat/completions, as with http://localhost:8000/v1',
    ),
  model: z.string().min(1).describe('Name of the model that judges, as the server knows it'),
  apiKeyEnv: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Environment variable that holds the key; only its name is written anywhere. No key is sent when not given',
    ),
};

/** A judge over HTTP that speaks the chat completions of OpenAI. */
export const judgeSection = z.strictObject({
  ...provider,
  prompt: z
    .string()
    .min(1)
    .describe(
      "Text file with the judge's prompt, with {prompt}, {completion} and fields of the row as {row.KEY}; {completions} for a ranking",
    ),
  ask: z
    .enum(['score', 'ranking'])
    .default('score')
    .describe(
      'score: each completion by itself, {"score": 0 to 1}. ranking: a group at once, {"ranking": [2, 1, …]}, best first',
    ),
  components: z
    .record(z.string().min(1), nonNegative)
    .optional()
    .describe(
      'Named scores and their weights, {"scores": {NAME: 0 to 1, …}} in the reply; the reward is their weighted mean, weight 0 is for what tiers take. One score when not given',
    ),
  jsonMode: z
    .boolean()
    .default(true)
    .describe('Asks the server for JSON only (response_format); false for servers that lack it'),
  timeoutSeconds: positive
    .max(300)
    .default(15)
    .describe('Seconds that one request may take: more tolerates slow judges'),
  retries: count
    .default(3)
    .describe('Times that a request is sent again after a time-out, a dropped connection, 429 or 5xx'),
  retryWaitSeconds: positive
    .default(0.5)
    .describe("Seconds before the first retry, doubled for each further one; the server's Retry-After wins"),
  requestsPerSecond: positive
    .default(20)
    .describe('Most requests per second to a provider: less spares a limited account'),
  workers: positiveCount
    .default(8)
    .describe('Most requests to a provider at the same time: more is faster where the server copes'),
  cache: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Folder of verdicts, kept from run to run and shared by runs at the same time. Nothing is kept when not given',
    ),
  fallbacks: z
    .array(z.strictObject(provider))
    .default([])
    .describe(
      'Providers [{baseURL, model, apiKeyEnv}] that judge a whole group, in this order, where the ones before fail',
    ),
});

/** A judge's settings, with every default filled in. */
export type JudgeSettings = z.output<typeof judgeSection>;
