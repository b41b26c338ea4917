import { z } from 'zod';
import { seedOf } from '../maths/random.js';
import {
  asksSupport,
  type Dialect,
  type RemoteCompletion,
  type RemoteRequest,
  type ServerFacts,
} from './dialect.js';
import type { JsonServer } from './json-server.js';
import { dtypeIn, readAnswer, unlessUnknown } from './read-answer.js';
import { WrongAnswer } from './server-error.js';

const models = z.object({
  data: z
    .array(
      z.object({
        id: z.string(),
        parent: z.string().nullish(),
        max_model_len: z.number().nullish(),
      }),
    )
    .min(1),
});

const version = z.object({ version: z.string(), engine: z.string().optional() });

/** As vLLM nests it in development mode. */
const serverInfo = z.object({
  vllm_config: z
    .object({
      model_config: z
        .object({
          dtype: z.string().optional(),
          vocab_size: z.number().optional(),
        })
        .optional(),
    })
    .optional(),
});

const weightInfo = z.object({ weight_version: z.union([z.string(), z.number()]).nullish() });

const ids = z.array(z.int());
const promptLogprobs = z.array(z.record(z.string(), z.object({ logprob: z.number().nullable() })).nullable());

const completions = z.object({
  model: z.string().optional(),
  weight_version: z.string().nullish(),
  choices: z.array(
    z.object({
      index: z.int(),
      finish_reason: z.string().nullable(),
      token_ids: ids,
      prompt_token_ids: ids,
      logprobs: z.object({ token_logprobs: z.array(z.number().nullable()) }),
      prompt_logprobs: promptLogprobs.nullish(),
      weights_checksum: z.number().nullish(),
    }),
  ),
});

const COMPLETIONS = '/v1/completions';

/** The one call of vLLM that answers with the ids that sampling kept. */
const GENERATE = '/inference/v1/generate';

const generated = z.object({
  model: z.string().nullish(),
  weight_version: z.string().nullish(),
  choices: z.array(
    z.object({
      index: z.int(),
      finish_reason: z.string().nullable(),
      token_ids: ids,
      logprobs: z.object({ content: z.array(z.object({ logprob: z.number().nullable() })) }),
      sampling_mask: z.array(ids).nullish(),
      weights_checksum: z.number().nullish(),
    }),
  ),
});

/** vLLM's server, and `grpo serve` in its place. */
export const vllm: Dialect = {
  supportHint:
    'Start vLLM, 0.28 or later, with --enable-scale-out --return-sampling-mask --logprobs-mode processed_logprobs.',

  async facts(server, signal) {
    const [{ data }, software, info, weights] = await Promise.all([
      server.get('/v1/models', signal).then((answer) => readAnswer('/v1/models', models, answer)),
      optional(server, '/version', version, signal),
      optional(server, '/server_info?config_format=json', serverInfo, signal),
      optional(server, '/weight_info', weightInfo, signal),
    ]);
    const base = data.find(({ parent }) => parent == null);
    if (!base) throw new WrongAnswer('its answer to /v1/models names no base model');
    const engine = software?.engine ?? 'vllm';
    const config = info?.vllm_config?.model_config;
    return {
      model: base.id,
      software: software ? `${engine} ${software.version}` : engine,
      isGrpo: engine === 'grpo',
      maxModelLen: base.max_model_len ?? undefined,
      vocabSize: config?.vocab_size,
      dtype: dtypeIn(config?.dtype),
      adapters: data.flatMap(({ id, parent }) => (parent == null ? [] : id)),
      weightVersion: weights?.weight_version == null ? undefined : String(weights.weight_version),
    };
  },

  async generate(server, facts, request) {
    if (asksSupport(request.options)) return generateOverSupport(server, facts, request);
    const answer = await server.work(COMPLETIONS, completionsBody(facts, request), request.signal);
    const { model, weight_version, choices } = readAnswer(COMPLETIONS, completions, answer);
    return choices.map(
      (choice): RemoteCompletion => ({
        index: choice.index,
        ids: choice.token_ids,
        logprobs: choice.logprobs.token_logprobs,
        finishReason: choice.finish_reason ?? 'none',
        prompt: choice.prompt_token_ids,
        model,
        weightVersion: weight_version ?? undefined,
        weights: choice.weights_checksum ?? undefined,
      }),
    );
  },

  async score(server, facts, { ids, adapter, signal }) {
    const body = {
      model: adapter ?? facts.model,
      prompt: ids,
      max_tokens: 1,
      temperature: 1,
      // The token is not looked at; a server that tells kept ids draws none without a top-k.
      top_k: 1,
      logprobs: 0,
      prompt_logprobs: 0,
      return_token_ids: true,
    };
    const answer = readAnswer(COMPLETIONS, completions, await server.work(COMPLETIONS, body, signal));
    const scores = answer.choices[0]?.prompt_logprobs;
    if (scores?.length !== ids.length)
      throw new WrongAnswer(`it scores ${scores?.length ?? 'none'} of ${ids.length} tokens`);
    return ids.map((id, t) => scores[t]?.[id]?.logprob ?? null);
  },

  async push(server, facts, { kind, folder, name, prefix }, signal) {
    if (kind === 'model') throw new Error('vLLM reads no weights from a folder');
    await this.withdraw(server, facts, prefix, signal);
    await server.work('/v1/load_lora_adapter', { lora_name: name, lora_path: folder }, signal);
    const { adapters } = await this.facts(server, signal);
    if (!adapters.includes(name))
      throw new WrongAnswer(`it took the adapter ${name}, and does not list it among its models`);
  },

  async withdraw(server, facts, prefix, signal) {
    for (const lora_name of facts.adapters.filter((adapter) => adapter.startsWith(prefix)))
      await server.post('/v1/unload_lora_adapter', { lora_name }, signal);
  },

  async flush(server, signal) {
    await server.post('/reset_prefix_cache', {}, signal);
  },
};

async function optional<T extends z.ZodType>(
  server: JsonServer,
  path: string,
  schema: T,
  signal: AbortSignal | undefined,
): Promise<z.output<T> | undefined> {
  const answer = await unlessUnknown(server.get(path, signal));
  return answer === undefined ? undefined : readAnswer(path, schema, answer);
}

async function generateOverSupport(
  server: JsonServer,
  facts: ServerFacts,
  { prompt, count, limit, options, endIds, seed, keys, adapter, signal }: RemoteRequest,
): Promise<RemoteCompletion[]> {
  const body = {
    model: adapter ?? facts.model,
    token_ids: prompt,
    sampling_params: {
      n: count,
      max_tokens: limit,
      ...drawing(options),
      stop_token_ids: [...endIds],
      ...stopping(options),
      logprobs: 0,
      ...(facts.isGrpo
        ? { seed, extra_args: { random_keys: keys, invariant: options.invariant } }
        : { seed: seedOf(seed, ...keys) }),
    },
    stream: false,
  };
  const answer = readAnswer(GENERATE, generated, await server.work(GENERATE, body, signal));
  return answer.choices.map(
    (choice): RemoteCompletion => ({
      index: choice.index,
      ids: choice.token_ids,
      logprobs: choice.logprobs.content.map(({ logprob }) => logprob),
      support: choice.sampling_mask ?? undefined,
      finishReason: choice.finish_reason ?? 'none',
      // It takes ids and tells none of them again.
      prompt,
      model: answer.model ?? undefined,
      weightVersion: answer.weight_version ?? undefined,
      weights: choice.weights_checksum ?? undefined,
    }),
  );
}

/** How tokens are drawn. What generation_config.json of the model says otherwise holds unless it is given. */
function drawing({ temperature, topP, topK, minP }: RemoteRequest['options']): object {
  // Where the ids that were kept are told, every request must have a temperature and a top-k: the likeliest is the first.
  const isGreedy = temperature === 0 && topK > 0;
  return {
    ...(isGreedy
      ? { temperature: 1, top_p: 1, top_k: 1, min_p: 0 }
      : { temperature, top_p: topP, top_k: topK, min_p: minP }),
    ...{ repetition_penalty: 1, presence_penalty: 0, frequency_penalty: 0 },
  };
}

const stopping = ({ stop }: RemoteRequest['options']) =>
  stop.length > 0 ? { stop, include_stop_str_in_output: true } : {};

function completionsBody(facts: ServerFacts, request: RemoteRequest): object {
  const { prompt, count, limit, options, endIds, seed, keys, adapter } = request;
  const { invariant } = options;
  return {
    model: adapter ?? facts.model,
    prompt,
    n: count,
    max_tokens: limit,
    ...drawing(options),
    stop_token_ids: [...endIds],
    ...stopping(options),
    logprobs: 0,
    return_token_ids: true,
    // Of `grpo serve` the streams are those of this process. Another server adds a completion's place to its seed.
    ...(facts.isGrpo
      ? { seed, vllm_xargs: { random_keys: keys, invariant: invariant ? 1 : 0 } }
      : { seed: seedOf(seed, ...keys) }),
  };
}
