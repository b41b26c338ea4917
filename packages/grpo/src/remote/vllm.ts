import { z } from 'zod';
import { seedOf } from '../maths/random.js';
import type { Dialect, RemoteCompletion, RemoteRequest, ServerFacts } from './dialect.js';
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
          logprobs_mode: z.string().optional(),
          vocab_size: z.number().optional(),
        })
        .optional(),
    })
    .optional(),
  tokenizer_fingerprint: z.string().optional(),
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

/** vLLM's server, and `grpo serve` in its place. */
export const vllm: Dialect = {
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
      tokenizer: info?.tokenizer_fingerprint,
      dtype: dtypeIn(config?.dtype),
      logprobsMode: config?.logprobs_mode,
      adapters: data.flatMap(({ id, parent }) => (parent == null ? [] : id)),
      weightVersion: weights?.weight_version == null ? undefined : String(weights.weight_version),
    };
  },

  async generate(server, facts, request) {
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

function completionsBody(facts: ServerFacts, request: RemoteRequest): object {
  const { prompt, count, limit, options, endIds, seed, keys, adapter } = request;
  const { temperature, stop, invariant } = options;
  return {
    model: adapter ?? facts.model,
    prompt,
    n: count,
    max_tokens: limit,
    temperature,
    // What generation_config.json of the model says otherwise holds unless it is given.
    ...{ top_p: 1, top_k: 0, min_p: 0 },
    ...{ repetition_penalty: 1, presence_penalty: 0, frequency_penalty: 0 },
    stop_token_ids: [...endIds],
    ...(stop.length > 0 && { stop, include_stop_str_in_output: true }),
    logprobs: 0,
    return_token_ids: true,
    // Of `grpo serve` the streams are those of this process. Another server adds a completion's place to its seed.
    ...(facts.isGrpo
      ? { seed, vllm_xargs: { random_keys: keys, invariant: invariant ? 1 : 0 } }
      : { seed: seedOf(seed, ...keys) }),
  };
}
