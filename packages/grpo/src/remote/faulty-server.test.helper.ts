/** A server that speaks both dialects over a deterministic model, with a switch for each fault. */
import { existsSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { uniform } from '../maths/random.js';

/** One choice, as the server tells it. */
interface Choice {
  index: number;
  ids: number[];
  logprobs: (number | null)[] | undefined;
  finish: string;
  prompt: readonly number[];
}

type Change = (choices: Choice[], size: { vocab: number; end: number; limit: number }) => Choice[];

/** Changes the first choice. */
const first =
  (change: (choice: Choice, size: Parameters<Change>[1]) => Partial<Choice>): Change =>
  ([one, ...others], size) => [{ ...one!, ...change(one!, size) }, ...others];

const withLogprob = (value: number | null) =>
  first(({ logprobs }) => ({ logprobs: logprobs!.with(-1, value) }));

/** Answers that are whole, and wrong. */
const CHANGED = {
  'too few choices': (choices) => choices.slice(0, -1),
  'too many choices': (choices) => [...choices, { ...choices[0]!, index: choices.length }],
  'a choice twice': (choices) => [choices[0]!, ...choices.slice(0, -1)],
  'no choices': () => [],
  'a log-prob that is null': withLogprob(null),
  'a log-prob above 0': withLogprob(0.5),
  'a log-prob of −9999': withLogprob(-9999),
  'no log-probs': (choices) => choices.map((one) => ({ ...one, logprobs: undefined })),
  'a log-prob too few': first(({ logprobs }) => ({ logprobs: logprobs!.slice(1) })),
  'a token outside of the vocabulary': first(({ ids }, { vocab }) => ({ ids: ids.with(0, vocab) })),
  'no tokens': first(() => ({ ids: [], logprobs: [] })),
  'length before the limit': first(() => ({ ids: [1], logprobs: [-1], finish: 'length' })),
  'more tokens than the limit': first((_, { limit }) => ({
    ids: Array<number>(limit + 1).fill(1),
    logprobs: Array<number>(limit + 1).fill(-1),
    finish: 'length',
  })),
  'an aborted choice': first(({ ids, logprobs }) => ({
    ids: ids.slice(0, 1),
    logprobs: logprobs!.slice(0, 1),
    finish: 'abort',
  })),
  'a stop without an end': first(() => ({ ids: [1], logprobs: [-1], finish: 'stop' })),
  'tokens after the end': first((_, { end }) => ({ ids: [end, end], logprobs: [-1, -1], finish: 'stop' })),
  'another prompt': (choices) => choices.map((one) => ({ ...one, prompt: one.prompt.slice(1) })),
} as const satisfies Record<string, Change>;

/** Answers that are none, or come too late. */
const BROKEN = {
  'no answer': () => {},
  'a lost connection': (response) => response.socket!.destroy(),
  'half an answer': (response, text) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': text.length });
    response.write(text.slice(0, text.length / 2), () => response.socket!.destroy());
  },
  'half of the JSON': (response, text) => send(response, 200, text.slice(0, text.length / 2)),
  'a page of a proxy': (response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end('<html>sign in</html>');
  },
  'HTTP 429': (response) => send(response, 429, '{"message": "slow down"}', { 'retry-after': '0.2' }),
  'HTTP 503': (response) => send(response, 503, '{"message": "loading"}', { 'retry-after': '0.2' }),
  'HTTP 500': (response) => send(response, 500, '{"error": {"message": "CUDA error"}}'),
  'HTTP 400': (response) => send(response, 400, '{"detail": "no"}'),
} as const satisfies Record<string, (response: ServerResponse, text: string) => void>;

/** Weights that are not those it was given. */
const WEIGHTS = ['a restart', 'other weights'] as const;

export type Fault = keyof typeof CHANGED | keyof typeof BROKEN | (typeof WEIGHTS)[number];

export const FAULTS = [...Object.keys(CHANGED), ...Object.keys(BROKEN), ...WEIGHTS] as Fault[];

const send = (response: ServerResponse, status: number, text: string, headers: object = {}) => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(text);
};

/** The model that is served. */
export interface Served {
  vocab: number;
  /** An end token. */
  end: number;
  /** Longest sequence. */
  context: number;
}

export class FaultyServer {
  /** One for each of the next requests for completions; `undefined` is a request that is answered well. */
  faults: (Fault | undefined)[] = [];
  /** Of all requests for completions, after those. */
  always: Fault | undefined;
  /** Of hand-overs of weights: refused, or acknowledged and not done. */
  handOver: 'refuses' | 'lies' | undefined;
  /** The key that it asks for. */
  key: string | undefined;
  /** What answers. */
  engine: 'grpo' | 'vllm' = 'grpo';
  /** Requests that change something or take work: path, and what was asked. */
  readonly asked: { path: string; body: Record<string, unknown> }[] = [];
  /** Requests whose client has gone before the answer. */
  aborted = 0;
  adapters = new Set<string>();
  weightVersion = 'default';
  #server: Server | undefined;
  #port = 0;

  constructor(private readonly model: Served) {}

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** A server that was stopped comes back at the same port, with the weights that it began with. */
  async start(): Promise<this> {
    this.#restart();
    this.#server = createServer((request, response) => void this.#answer(request, response));
    await new Promise<void>((resolve) => this.#server!.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
    return this;
  }

  async stop(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
  }

  #restart(): void {
    this.adapters = new Set();
    this.weightVersion = 'default';
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const body = text === '' ? {} : JSON.parse(text);
    const path = request.url!.replace(/\?.*/, '');
    if (request.method === 'POST') this.asked.push({ path, body });
    response.on('close', () => {
      if (!response.writableFinished) this.aborted++;
    });
    const { authorization } = request.headers;
    if (this.key !== undefined && authorization !== `Bearer ${this.key}`)
      send(response, 401, JSON.stringify({ error: `${authorization} is not the key` }));
    else if (path === '/v1/completions' || path === '/generate') this.#complete(path, body, response);
    else if (/load|update/.test(path)) this.#take(path, body, response);
    else this.#tell(path, response);
  }

  #tell(path: string, response: ServerResponse): void {
    const { context, vocab } = this.model;
    const answers: Record<string, object> = {
      '/version': { version: '1', engine: this.engine },
      '/v1/models': {
        data: [
          { id: 'base', parent: null, max_model_len: context },
          ...[...this.adapters].map((id) => ({ id, parent: 'base', max_model_len: context })),
        ],
      },
      '/server_info': { vllm_config: { model_config: { vocab_size: vocab } } },
      '/weight_info': { weight_version: this.weightVersion },
      '/get_model_info': { model_path: 'base', weight_version: this.weightVersion },
      '/get_server_info': { version: '1', engine: this.engine, context_length: context },
    };
    const answer = answers[path];
    send(response, answer ? 200 : 404, JSON.stringify(answer ?? { detail: 'Not Found' }));
  }

  #take(path: string, body: Record<string, string>, response: ServerResponse): void {
    const { lora_name: name = '', lora_path, model_path, weight_version } = body;
    const file = model_path ? 'model.safetensors' : 'adapter_model.safetensors';
    const folder = model_path ?? lora_path;
    const isThere = folder === undefined || existsSync(join(folder, file));
    if (this.handOver === 'refuses' || !isThere) {
      const told = { success: false, message: 'cannot load' };
      send(response, path.startsWith('/v1') ? 400 : 200, JSON.stringify(told));
      return;
    }
    if (this.handOver !== 'lies') {
      if (model_path) this.weightVersion = weight_version!;
      else if (lora_path) this.adapters.add(name);
      else this.adapters.delete(name);
    }
    const loaded_adapters = Object.fromEntries([...this.adapters].map((one) => [one, '']));
    send(response, 200, JSON.stringify({ success: true, message: 'done', loaded_adapters }));
  }

  #complete(path: string, body: Record<string, unknown>, response: ServerResponse): void {
    const fault = this.faults.length > 0 ? this.faults.shift() : this.always;
    if (fault === 'a restart') this.#restart();
    const asked = (path === '/generate' ? body.lora_path : body.model) as string | undefined;
    const isBase = asked === undefined || asked === 'base';
    if (!isBase && !this.adapters.has(asked)) {
      send(response, 404, JSON.stringify({ error: { message: `The model ${asked} does not exist.` } }));
      return;
    }
    const isOther = fault === 'other weights';
    // The weights that it began with draw otherwise than those that it was given.
    const isStale = isOther || (isBase && this.weightVersion === 'default');
    const change: Change = CHANGED[fault as keyof typeof CHANGED] ?? ((choices) => choices);
    const drawn = this.#choices(path, { ...body, seed: (body.seed as number) + (isStale ? 1 : 0) });
    const choices = change(drawn, { ...this.model, limit: limitOf(body) });
    const text = JSON.stringify(
      path === '/generate'
        ? choices.map((choice) => sglangChoice(choice, isOther ? 'others' : this.weightVersion))
        : {
            model: isOther ? 'base' : asked,
            weight_version: this.weightVersion,
            choices: choices.map(vllmChoice),
          },
    );
    const broken = BROKEN[fault as keyof typeof BROKEN] as (typeof BROKEN)['HTTP 500'] | undefined;
    if (broken) (broken as (response: ServerResponse, text: string) => void)(response, text);
    else send(response, 200, text);
  }

  #choices(path: string, body: Record<string, unknown>): Choice[] {
    const { n = 1 } = (path === '/generate' ? body.sampling_params : body) as { n?: number };
    const xargs = (body.vllm_xargs ?? body) as { random_keys?: number[] };
    const prompt = (body.input_ids ?? body.prompt) as number[];
    const draws = { seed: body.seed as number, keys: xargs.random_keys ?? [], limit: limitOf(body) };
    return Array.from({ length: n }, (_, index) => ({
      index,
      prompt,
      ...fakeCompletion(this.model, { ...draws, index }),
    }));
  }
}

const limitOf = (body: Record<string, unknown>): number => {
  const { max_new_tokens } = (body.sampling_params ?? {}) as { max_new_tokens?: number };
  return (max_new_tokens ?? body.max_tokens) as number;
};

/** The completion of a place in a prompt's streams. */
export function fakeCompletion(
  { vocab, end }: Served,
  { seed, keys, index, limit }: { seed: number; keys: readonly number[]; index: number; limit: number },
) {
  const ids: number[] = [];
  while (ids.length < limit && ids.at(-1) !== end) {
    const u = uniform(seed, ...keys, index, ids.length);
    const other = Math.floor(u * (vocab - 1));
    ids.push(u < 0.1 ? end : other === end ? vocab - 1 : other);
  }
  const logprobs = ids.map((id) => Math.fround(-1 / (id + 1)));
  return { ids, logprobs, finish: ids.at(-1) === end ? 'stop' : 'length' };
}

const vllmChoice = ({ index, ids, logprobs, finish, prompt }: Choice) => ({
  index,
  token_ids: ids,
  prompt_token_ids: prompt,
  ...(logprobs && { logprobs: { token_logprobs: logprobs } }),
  finish_reason: finish,
});

const sglangChoice = ({ ids, logprobs, finish, prompt }: Choice, weightVersion: string) => ({
  meta_info: {
    prompt_tokens: prompt.length,
    finish_reason: { type: finish },
    weight_version: weightVersion,
    output_token_logprobs: logprobs?.map((logprob, t) => [logprob, ids[t] ?? 0, null]),
  },
});
