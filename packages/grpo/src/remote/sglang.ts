import { z } from 'zod';
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

const modelInfo = z.object({
  model_path: z.string(),
  weight_version: z.string().nullish(),
  vocab_size: z.number().nullish(),
});

const serverInfo = z.object({
  version: z.string().nullish(),
  engine: z.string().optional(),
  context_length: z.number().nullish(),
  dtype: z.string().nullish(),
});

const models = z.object({
  data: z.array(
    z.object({ id: z.string(), parent: z.string().nullish(), max_model_len: z.number().nullish() }),
  ),
});

/** `[log-prob, id, text]`. */
const scored = z.array(z.tuple([z.number().nullable(), z.int()], z.unknown()));

const generated = z.object({
  meta_info: z.object({
    finish_reason: z.object({ type: z.string() }).nullable(),
    prompt_tokens: z.int(),
    weight_version: z.string().nullish(),
    weights_checksum: z.number().nullish(),
    output_token_logprobs: scored,
    output_token_sampling_mask: z.array(z.array(z.int())).nullish(),
    output_token_sampling_logprobs: z.array(z.number().nullable()).nullish(),
  }),
});

const scoring = z.object({ meta_info: z.object({ input_token_logprobs: scored }) });

/** Whether it was done: it answers 200 in either case. */
const success = z.object({
  success: z.boolean(),
  message: z.string().nullish(),
  error_message: z.string().nullish(),
  loaded_adapters: z.record(z.string(), z.unknown()).nullish(),
});

/** SGLang's server, and `grpo serve` in its place. */
export const sglang: Dialect = {
  supportHint:
    'Start SGLang, 0.5.20 or later; where more ids are kept than it makes room for, with --sampling-mask-max-tokens N.',

  async facts(server, signal) {
    const ask = async <T extends z.ZodType>(path: string, schema: T) =>
      readAnswer(path, schema, await server.get(path, signal));
    const [model, info, listed] = await Promise.all([
      ask('/get_model_info', modelInfo),
      ask('/get_server_info', serverInfo),
      unlessUnknown(ask('/v1/models', models)),
    ]);
    const engine = info.engine ?? 'sglang';
    const base = listed?.data.find(({ parent }) => parent == null);
    return {
      model: model.model_path,
      software: info.version == null ? engine : `${engine} ${info.version}`,
      isGrpo: engine === 'grpo',
      maxModelLen: info.context_length ?? base?.max_model_len ?? undefined,
      vocabSize: model.vocab_size ?? undefined,
      dtype: dtypeIn(info.dtype),
      adapters: listed?.data.flatMap(({ id, parent }) => (parent == null ? [] : id)) ?? [],
      weightVersion: model.weight_version ?? undefined,
    };
  },

  async generate(server, facts, request) {
    const answer = await server.work('/generate', generateBody(facts, request), request.signal);
    const all = Array.isArray(answer) ? answer : [answer];
    return all.map((one, index): RemoteCompletion => {
      const { meta_info: meta } = readAnswer('/generate', generated, one);
      const tokens = meta.output_token_logprobs;
      const support = asksSupport(request.options) ? meta.output_token_sampling_mask : undefined;
      const overSupport = support && meta.output_token_sampling_logprobs;
      return {
        index,
        ids: tokens.map(([, id]) => id),
        logprobs: overSupport ?? tokens.map(([logprob]) => logprob),
        support: support ?? undefined,
        finishReason: meta.finish_reason?.type ?? 'none',
        prompt: meta.prompt_tokens,
        weightVersion: meta.weight_version ?? undefined,
        weights: meta.weights_checksum ?? undefined,
      };
    });
  },

  async score(server, _, { ids, adapter, signal }) {
    const body = {
      input_ids: ids,
      sampling_params: { max_new_tokens: 0, temperature: 1 },
      return_logprob: true,
      logprob_start_len: 0,
      ...(adapter !== undefined && { lora_path: adapter }),
    };
    const { meta_info: meta } = readAnswer(
      '/generate',
      scoring,
      await server.work('/generate', body, signal),
    );
    const scores = meta.input_token_logprobs;
    if (scores.length !== ids.length || scores.some(([, id], t) => id !== ids[t]))
      throw new WrongAnswer(
        `it scores ${scores.length} tokens, and not the ${ids.length} that it was asked for`,
      );
    return scores.map(([logprob]) => logprob);
  },

  async push(server, facts, { kind, folder, name, prefix }, signal) {
    if (kind === 'adapter') {
      await this.withdraw(server, facts, prefix, signal);
      const body = { lora_name: name, lora_path: folder };
      const { loaded_adapters: loaded } = await perform(server, '/load_lora_adapter', body, signal);
      if (loaded && !(name in loaded))
        throw new WrongAnswer(`it took the adapter ${name}, and does not list it`);
      return;
    }
    const body = { model_path: folder, weight_version: name, flush_cache: true };
    await perform(server, '/update_weights_from_disk', body, signal);
    const { weightVersion } = await this.facts(server, signal);
    if (weightVersion !== name)
      throw new WrongAnswer(`it took the weights ${name}, and says that it has ${weightVersion ?? 'others'}`);
  },

  async withdraw(server, { adapters }, prefix, signal) {
    for (const lora_name of adapters.filter((adapter) => adapter.startsWith(prefix)))
      await perform(server, '/unload_lora_adapter', { lora_name }, signal);
  },

  async flush(server, signal) {
    await server.post('/flush_cache', {}, signal);
  },
};

async function perform(server: JsonServer, path: string, body: object, signal?: AbortSignal) {
  const answer = readAnswer(path, success, await server.work(path, body, signal));
  if (answer.success) return answer;
  const why = answer.message ?? answer.error_message ?? 'it does not say why';
  throw new WrongAnswer(`${path} failed: ${why}`);
}

function generateBody(facts: ServerFacts, request: RemoteRequest): object {
  const { prompt, count, limit, options, endIds, seed, keys, adapter } = request;
  const { temperature, topP, topK, minP, stop, invariant } = options;
  return {
    input_ids: prompt,
    sampling_params: {
      n: count,
      max_new_tokens: limit,
      temperature,
      // What generation_config.json of the model says otherwise holds unless it is given.
      ...{ top_p: topP, top_k: topK > 0 ? topK : -1, min_p: minP },
      ...{ repetition_penalty: 1, presence_penalty: 0, frequency_penalty: 0 },
      stop_token_ids: [...endIds],
      ...(stop.length > 0 && { stop, no_stop_trim: true }),
    },
    return_logprob: true,
    ...(asksSupport(options) && { return_sampling_mask: true }),
    logprob_start_len: -1,
    ...(adapter !== undefined && { lora_path: adapter }),
    // SGLang itself would draw all completions of a prompt alike with a seed: it draws by its own.
    ...(facts.isGrpo && { seed, random_keys: keys, invariant }),
  };
}
