import { z } from 'zod';
import type { Completion } from '../../rollout/index.js';
import { ApiError } from './api-error.js';
import type { Handler } from './call.js';
import { refuseScores } from './choice-fields.js';
import { ChoiceText } from './choice-text.js';
import { adapterOf, generate, processedLogprob } from './generate.js';
import { newTokensFor, promptOfIds } from './prompt.js';
import { readBody, readFields } from './read-body.js';
import { randomnessOf, samplingFields, samplingOptions } from './sampling-fields.js';
import { maskOf } from './scale-out/generate-tokens.js';

const flag = z
  .boolean()
  .nullish()
  .transform((value) => value ?? false);
const { min_tokens, include_stop_str_in_output, ...shared } = samplingFields;

const sampling = z.object({
  ...shared,
  max_new_tokens: z
    .int()
    .min(0)
    .nullish()
    .transform((value) => value ?? 128),
  min_new_tokens: min_tokens,
  no_stop_trim: include_stop_str_in_output,
  regex: z.null().optional(),
  json_schema: z.null().optional(),
  ebnf: z.null().optional(),
  ignore_eos: z.literal(false).nullish(),
});

const schema = z.object({
  input_ids: z.array(z.int()).min(1, 'the prompt is empty'),
  sampling_params: sampling.default(() => sampling.parse({})),
  return_logprob: flag,
  return_sampling_mask: flag,
  logprob_start_len: z.int().min(-1).nullish(),
  top_logprobs_num: z.literal(0, 'only the log-prob of the drawn token is told').nullish(),
  stream: z.literal(false, 'streams are for /v1/completions').nullish(),
  lora_path: z.string().nullish(),
  rid: z.string().max(200).nullish(),
  seed: z.int().nullish(),
  random_keys: z.array(z.int()).max(8).optional(),
  invariant: z.boolean().optional(),
});

/** `POST /generate`, SGLang's: the completions of one prompt of ids; `seed`, `random_keys` and `invariant` are ours. */
export const generateOfSglang: Handler = async (service, { request, signal }) => {
  const body = await readBody(request);
  for (const param of ['text', 'image_data', 'input_embeds'])
    if (body[param] !== undefined && body[param] !== null)
      throw new ApiError(400, `${param}: only prompts of input_ids are taken here.`, { param });
  const asked = readFields(schema, body);
  const { engine } = service;
  const params = asked.sampling_params;
  const prompt = promptOfIds(engine.model, asked.input_ids);
  const start = asked.logprob_start_len ?? -1;
  const scoresPrompts = asked.return_logprob && start >= 0;
  if (scoresPrompts) refuseScores({ stream: false, temperature: params.temperature });
  const maxNewTokens = newTokensFor(engine, [prompt], params.max_new_tokens, 'max_new_tokens');
  const options = samplingOptions(
    { ...params, min_tokens: params.min_new_tokens, include_stop_str_in_output: params.no_stop_trim },
    {
      maxNewTokens,
      invariant: asked.invariant ?? false,
      endIds: engine.model.endIds,
      keepSupport: asked.return_sampling_mask,
    },
  );
  const [generated] = await generate(
    service,
    {
      prompts: [prompt],
      count: params.n,
      options,
      randomness: () => randomnessOf(asked.seed ?? params.seed, asked.random_keys ?? []),
      adapter: adapterOf(service, asked.lora_path),
      scoresPrompts,
    },
    signal,
  );
  const { completions, promptLogprobs, weightVersion } = generated!;
  const answer = (completion: Completion | undefined, index: number) => {
    const { ids, finishReason, weights } = completion ?? {
      ids: [],
      finishReason: 'length',
      weights: undefined,
    };
    const told = new ChoiceText(engine.model, {
      stop: options.stop,
      includesStop: params.no_stop_trim,
      skipsSpecial: params.skip_special_tokens,
    });
    const before = ids.slice(0, -1).map((id) => told.add(id));
    const end = told.end(ids, finishReason);
    const matched = end.stopReason ?? ids.at(-1);
    return {
      text: before.join('') + end.text,
      output_ids: ids,
      meta_info: {
        id: asked.rid ?? `${index}`,
        finish_reason:
          finishReason === 'stop' ? { type: 'stop', matched } : { type: 'length', length: ids.length },
        prompt_tokens: prompt.ids.length,
        completion_tokens: ids.length,
        cached_tokens: 0,
        weight_version: weightVersion,
        ...(weights !== undefined && { weights_checksum: weights }),
        ...(completion?.support && {
          output_token_sampling_mask: maskOf(completion.support),
          output_token_sampling_logprobs: [...completion.sampledLogprobs],
        }),
        ...(asked.return_logprob && {
          output_token_logprobs: ids.map((id, t) => {
            const token = {
              logprob: completion!.logprobs[t]!,
              sampledLogprob: completion!.sampledLogprobs[t]!,
            };
            return [processedLogprob(token, options), id, null];
          }),
          input_token_logprobs: (promptLogprobs ?? [])
            .map((logprob, t) => [logprob, prompt.ids[t]!, null])
            .slice(Math.max(0, start)),
        }),
      },
    };
  };
  const answers =
    maxNewTokens === 0
      ? Array.from({ length: params.n }, (_, i) => answer(undefined, i))
      : completions.map(answer);
  return params.n === 1 ? answers[0]! : answers;
};
