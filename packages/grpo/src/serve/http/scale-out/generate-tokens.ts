import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { TokenSets } from '../../../formats/token-sets.js';
import { ApiError } from '../api-error.js';
import type { Handler } from '../call.js';
import { adapterOf, generate, processedLogprob } from '../generate.js';
import { newTokensFor, promptOfIds } from '../prompt.js';
import { readBody, readFields } from '../read-body.js';
import { randomnessOf, samplingFields, samplingOptions } from '../sampling-fields.js';
import { refuseUnsupported } from '../unsupported.js';

const sampling = z.object({
  ...samplingFields,
  max_tokens: z
    .int()
    .min(1)
    .nullish()
    .transform((value) => value ?? 16),
  logprobs: z.union([z.literal(0), z.literal(1)], 'only the log-prob of the drawn token is told').nullish(),
  /** As `vllm_xargs` of the other calls. */
  extra_args: z
    .object({ random_keys: z.array(z.int()).max(8).optional(), invariant: z.boolean().optional() })
    .nullish(),
});

const schema = z.object({
  model: z.string().nullish(),
  token_ids: z.array(z.int()).min(1, 'the prompt is empty'),
  sampling_params: sampling.default(() => sampling.parse({})),
  stream: z.literal(false, 'streams are for /v1/completions').nullish(),
  request_id: z.string().max(200).nullish(),
});

/**
 * `POST /inference/v1/generate`, vLLM's: ids to ids. Where top-k, top-p or min-p truncate, each token comes with the ids that
 * it could have been drawn from, and its log-prob is over these.
 */
export const generateTokens: Handler = async (service, { request, signal }) => {
  const body = await readBody(request);
  const asked = readFields(schema, body);
  const params = asked.sampling_params;
  refuseUnsupported((body.sampling_params ?? {}) as Record<string, unknown>);
  if (body.features !== undefined && body.features !== null)
    throw new ApiError(400, 'features: only prompts of token ids are taken here.', { param: 'features' });
  const { engine } = service;
  const prompt = promptOfIds(engine.model, asked.token_ids);
  const { random_keys = [], invariant = false } = params.extra_args ?? {};
  const maxNewTokens = newTokensFor(engine, [prompt], params.max_tokens);
  const options = samplingOptions(params, {
    maxNewTokens,
    invariant,
    endIds: engine.model.endIds,
    keepSupport: true,
  });
  const [generated] = await generate(
    service,
    {
      prompts: [prompt],
      count: params.n,
      options,
      randomness: () => randomnessOf(params.seed, random_keys),
      adapter: adapterOf(service, asked.model),
      scoresPrompts: false,
    },
    signal,
  );
  const { completions, weightVersion } = generated!;
  return {
    request_id: asked.request_id ?? randomUUID().replaceAll('-', ''),
    model: asked.model ?? service.name,
    choices: completions.map(({ ids, logprobs, sampledLogprobs, support, finishReason, weights }, index) => ({
      index,
      token_ids: ids,
      logprobs: {
        content: ids.map((id, t) => {
          const token = { logprob: logprobs[t]!, sampledLogprob: sampledLogprobs[t]! };
          return { token: `token_id:${id}`, logprob: processedLogprob(token, options), top_logprobs: [] };
        }),
      },
      finish_reason: finishReason,
      sampling_mask: support ? maskOf(support) : null,
      ...(weights !== undefined && { weights_checksum: weights }),
    })),
    prompt_logprobs: null,
    weight_version: weightVersion,
  };
};

/** The ids of each set, in lists. */
export const maskOf = (sets: TokenSets): number[][] =>
  Array.from({ length: sets.length }, (_, t) => [...sets.ids(t)]);
