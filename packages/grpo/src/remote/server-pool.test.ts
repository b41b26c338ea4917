import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { UserError } from '../errors/user-error.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { type LoadedModel, loadModel } from '../models/index.js';
import { Abandoned, Watch } from '../progress/watch.js';
import { plainSampling } from '../rollout/index.js';
import {
  FAULTS,
  type Fault,
  FaultyServer,
  fakeCompletion,
  type Served,
} from './faulty-server.test.helper.js';
import { PublishedWeights } from './published-weights.js';
import { type PoolOptions, ServerPool } from './server-pool.js';

const folder = fileURLToPath(new URL('../../../../parity/fixtures/models/llama3', import.meta.url));

const ENGINES = ['vllm', 'sglang'] as const;
const SEED = 7;
const GROUP = 3;
const LIMIT = 12;
const options = { ...plainSampling, maxNewTokens: LIMIT };
const requests = [0, 1, 2, 3].map((place) => ({ ids: [5, 6, 7 + place], count: GROUP, keys: [2, place] }));

let adapted: LoadedModel;
let whole: LoadedModel;
let served: Served;
let servers: FaultyServer[] = [];

beforeAll(() => {
  whole = loadModel(folder);
  adapted = loadModel(folder, { lora: { rank: 2, alpha: 4, targets: ['q_proj'], seed: 1 } });
  const { vocabSize, maxPositions } = whole.decoder.config;
  served = { vocab: vocabSize, end: [...whole.endIds][0]!, context: maxPositions };
});
afterEach(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  servers = [];
});
afterAll(() => {
  for (const { decoder } of [whole, adapted]) decoder.dispose();
});

async function startServers(count: number): Promise<FaultyServer[]> {
  servers = await Promise.all(Array.from({ length: count }, () => new FaultyServer(served).start()));
  return servers;
}

const poolOf = (
  engine: PoolOptions['engine'],
  { model = adapted, ...more }: Partial<PoolOptions> & { model?: LoadedModel } = {},
) =>
  new ServerPool(model, {
    engine,
    urls: servers.map(({ url }) => url),
    timeoutSeconds: 0.5,
    patienceSeconds: 3,
    pauseSeconds: 0.01,
    ...more,
  });

/** Weights under a name of their own, handed over in `root`. */
const weightsOf = (root: string, step: number, model = adapted) =>
  new PublishedWeights(model, `step-${step}`, {
    folder: root,
    runFolder: root,
    isLocal: true,
    prefix: 'grpo-run-',
    session: 'a1',
  });

/** The completion that a well server gives, and the one that is drawn when it cannot be used. */
const completionAt = (place: number, index: number, ...redrawn: number[]) =>
  fakeCompletion(served, { seed: SEED, keys: [2, place, ...redrawn], index, limit: LIMIT });

const sample = (pool: ServerPool, watch = new Watch()) => pool.sample(requests, options, SEED, watch);

/** What comes of a fault that happens once. */
const ONCE: Record<Fault, 'same' | 'redrawn' | 'error'> = {
  'too few choices': 'same',
  'too many choices': 'same',
  'a choice twice': 'same',
  'no choices': 'same',
  'a log-prob that is null': 'redrawn',
  'a log-prob above 0': 'redrawn',
  'a log-prob of −9999': 'redrawn',
  'no log-probs': 'same',
  'a log-prob too few': 'redrawn',
  'a token outside of the vocabulary': 'redrawn',
  'no tokens': 'redrawn',
  'length before the limit': 'redrawn',
  'more tokens than the limit': 'redrawn',
  'an aborted choice': 'redrawn',
  'a stop without an end': 'redrawn',
  'tokens after the end': 'redrawn',
  'another prompt': 'error',
  'no answer': 'same',
  'a lost connection': 'same',
  'half an answer': 'same',
  'half of the JSON': 'same',
  'a page of a proxy': 'same',
  'HTTP 429': 'same',
  'HTTP 503': 'same',
  'HTTP 500': 'same',
  'HTTP 400': 'same',
  'a restart': 'same',
  'other weights': 'same',
};

/** SGLang tells neither a choice's place nor ids apart from log-probs. */
const isOf = (engine: PoolOptions['engine'], fault: Fault) =>
  engine === 'vllm' || !['a choice twice', 'a log-prob too few'].includes(fault);

const cases = ENGINES.flatMap((engine) =>
  FAULTS.filter((fault) => isOf(engine, fault)).map((fault) => [engine, fault] as const),
);

describe('a pool of servers', () => {
  it.each(ENGINES)('samples by %s what each prompt draws, whichever server it goes to', async (engine) => {
    await startServers(2);
    await using pool = poolOf(engine);
    await pool.publish(weightsOf(tempFolder(), 0), new Watch());
    const groups = await sample(pool);
    for (const [place, group] of groups.entries())
      for (const [index, completion] of group.entries()) {
        const { ids, logprobs, finish } = completionAt(place, index);
        expect(completion).toMatchObject({ ids, finishReason: finish });
        expect([...completion.logprobs]).toEqual(logprobs);
        expect(completion.sampledLogprobs).toEqual(completion.logprobs);
        expect(completion.source?.weightVersion).toBe('step-0');
      }
    expect(groups.map(({ length }) => length)).toEqual(requests.map(() => GROUP));
    for (const { asked } of servers)
      expect(asked.filter(({ path }) => /completions|generate/.test(path))).toHaveLength(2);
  });

  it.each(ENGINES)('asks %s for greedy completions beside others, and for no more', async (engine) => {
    const [server] = await startServers(1);
    await using pool = poolOf(engine);
    await pool.publish(weightsOf(tempFolder(), 0), new Watch());
    const temperatures = [1, 1, 0];
    const mixed = requests.map((request) => ({ ...request, temperatures }));
    const groups = await pool.sample(mixed, options, SEED, new Watch());
    // A greedy completion is the only one of its request, whatever its place here.
    for (const [place, group] of groups.entries())
      expect(group.map(({ ids }) => ids)).toEqual([0, 1, 0].map((index) => completionAt(place, index).ids));
    const asked = server!.asked.flatMap(({ path, body }) =>
      /completions|generate/.test(path) ? [(body.sampling_params ?? body) as Record<string, unknown>] : [],
    );
    const counts = asked.map(({ temperature, n }) => `${n} at ${temperature}`);
    expect(counts.sort()).toEqual([...Array(4).fill('1 at 0'), ...Array(4).fill('2 at 1')]);
  });

  it.each(cases)('by %s survives %s', async (engine, fault) => {
    const [server] = await startServers(1);
    const root = tempFolder();
    await using pool = poolOf(engine);
    await pool.publish(weightsOf(root, 0), new Watch());
    server!.faults = [undefined, fault];
    if (ONCE[fault] === 'error') {
      await expect(sample(pool)).rejects.toThrow(
        /127\.0\.0\.1:\d+ was sent a prompt of 3 tokens, and read another/,
      );
      return;
    }
    const groups = await sample(pool);
    const wrong = groups.flatMap((group, place) =>
      group.flatMap((completion, index) => {
        const { ids, logprobs } = completionAt(place, index);
        const isSame = `${completion.ids}` === `${ids}` && `${[...completion.logprobs]}` === `${logprobs}`;
        return isSame ? [] : [{ place, index, completion }];
      }),
    );
    expect(groups.map((group) => group.filter(Boolean).length)).toEqual(requests.map(() => GROUP));
    expect(wrong).toHaveLength(ONCE[fault] === 'redrawn' ? 1 : 0);
    for (const { place, index, completion } of wrong) {
      const { ids, logprobs } = completionAt(place, index, -1, 1);
      expect(completion.ids).toEqual(ids);
      expect([...completion.logprobs]).toEqual(logprobs);
    }
    expect(readdirSync(root)).toEqual([]);
  });

  it.each(cases)('by %s stops with a clear error where there is always %s', async (engine, fault) => {
    const [server] = await startServers(1);
    await using pool = poolOf(engine, { timeoutSeconds: 0.05 });
    await pool.publish(weightsOf(tempFolder(), 0), new Watch());
    server!.always = fault;
    const error = await sample(pool).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UserError);
    const { message, hint } = error as UserError;
    expect(message).toMatch(/127\.0\.0\.1:\d+/);
    expect(message).toMatch(
      /^(prompt \d, completions? [\d, ]+: not sampled in 5 attempts|no server has answered for|127\S+ was sent a prompt)/,
    );
    expect(hint).toBeTruthy();
  });

  it.each(ENGINES)('by %s hands the prompts of a server that dies to another one', async (engine) => {
    const [dying, other] = await startServers(2);
    const notes: string[] = [];
    await using pool = poolOf(engine, { timeoutSeconds: 20, note: (text) => notes.push(text) });
    await pool.publish(weightsOf(tempFolder(), 0), new Watch());
    dying!.always = 'no answer';
    const sampling = sample(pool);
    while (!dying!.asked.some(({ path }) => /completions|generate/.test(path)))
      await new Promise((resolve) => setTimeout(resolve, 5));
    await dying!.stop();
    const groups = await sampling;
    expect(groups.flat().map(({ source }) => source!.server)).toEqual(
      requests.flatMap(() => Array(GROUP).fill(new URL(other!.url).host)),
    );
    expect(notes.join()).toMatch(/the connection was lost before the whole answer/);

    // It comes back without the weights, gets them, and works again.
    dying!.always = undefined;
    await dying!.start();
    dying!.asked.length = 0;
    while (!(await sample(pool)).flat().some(({ source }) => dying!.url.endsWith(source!.server)));
    const [first, ...rest] = dying!.asked.map(({ path }) => path);
    expect(first).toMatch(/load_lora_adapter/);
    expect(rest.join()).not.toMatch(/lora/);
    expect(notes.join()).toMatch(/answers again/);
  });

  it('gives up at once, and takes its requests back, when it is abandoned', async () => {
    const [server] = await startServers(1);
    server!.always = 'no answer';
    const controller = new AbortController();
    await using pool = poolOf('vllm', { timeoutSeconds: 60 });
    await pool.publish(weightsOf(tempFolder(), 0), new Watch());
    const sampling = sample(pool, new Watch({}, controller.signal));
    while (server!.asked.length < 1 + requests.length) await new Promise((resolve) => setTimeout(resolve, 5));
    controller.abort();
    await expect(sampling).rejects.toThrow(Abandoned);
    while (server!.aborted < requests.length) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  it('seeds prompts of a server that does not draw as this process does', async () => {
    const [server] = await startServers(1);
    server!.engine = 'vllm';
    await using pool = poolOf('vllm');
    await pool.publish(weightsOf(tempFolder(), 0), new Watch());
    await sample(pool);
    const bodies = server!.asked.flatMap(({ path, body }) => (path === '/v1/completions' ? [body] : []));
    expect(new Set(bodies.map(({ seed }) => seed)).size).toBe(requests.length);
    for (const body of bodies) expect(body).not.toHaveProperty('vllm_xargs');
  });
});

const OUTCOMES = {
  same: 'asked for again: the same completions',
  redrawn: 'that completion is drawn again, by other random numbers',
  error: 'the step ends with an error',
};

describe('the table of faults', () => {
  it('is that of the documentation', () => {
    const text = readFileSync(new URL('../../../../docs/servers.md', import.meta.url), 'utf8');
    const rows = [...text.matchAll(/^\| (.+?) +\| (.+?) +\| the step ends with an error +\|$/gm)];
    expect(rows.map(([, fault, once]) => [fault, once])).toEqual(
      FAULTS.map((fault) => [fault, OUTCOMES[ONCE[fault]]]),
    );
  });
});

describe('weights', () => {
  it.each(ENGINES)('are handed to %s under a new name, and the old ones go', async (engine) => {
    await startServers(2);
    const root = tempFolder();
    {
      await using pool = poolOf(engine);
      for (const step of [0, 1]) await pool.publish(weightsOf(root, step), new Watch());
      for (const { adapters } of servers) expect([...adapters]).toEqual(['grpo-run-a1-step-1']);
    }
    for (const { adapters } of servers) expect([...adapters]).toEqual([]);
    expect(readdirSync(root)).toEqual([]);
  });

  it('of other runs stay', async () => {
    const [server] = await startServers(1);
    server!.adapters.add('grpo-other-b2-step-9');
    await using pool = poolOf('vllm');
    for (const step of [0, 1]) await pool.publish(weightsOf(tempFolder(), step), new Watch());
    expect([...server!.adapters]).toEqual(['grpo-other-b2-step-9', 'grpo-run-a1-step-1']);
  });

  it('of a whole model go to SGLang as a folder', async () => {
    const [server] = await startServers(1);
    const root = tempFolder();
    await using pool = poolOf('sglang', { model: whole });
    await pool.publish(weightsOf(root, 3, whole), new Watch());
    const { path, body } = server!.asked[0]!;
    expect(path).toBe('/update_weights_from_disk');
    expect(body).toMatchObject({
      model_path: join(root, 'grpo-run-a1-step-3'),
      weight_version: 'grpo-run-a1-step-3',
    });
    expect(existsSync(body.model_path as string)).toBe(false);
    server!.faults = ['a restart'];
    const groups = await sample(pool);
    expect(groups.map((group) => group.map(({ ids }) => ids))).toEqual(
      requests.map((_, place) => Array.from({ length: GROUP }, (_, index) => completionAt(place, index).ids)),
    );
    expect(server!.weightVersion).toBe('grpo-run-a1-step-3');
  });

  it.each(
    ENGINES.flatMap((engine) =>
      (['refuses', 'lies'] as const).map((handOver) => [engine, handOver] as const),
    ),
  )('are not taken for handed over where %s %s', async (engine, handOver) => {
    const [server] = await startServers(1);
    server!.handOver = handOver;
    await using pool = poolOf(engine);
    await expect(pool.publish(weightsOf(tempFolder(), 0), new Watch())).rejects.toThrow(
      /127\S+ does not take an adapter of .*: .*(cannot load|does not list it)/,
    );
  });

  it('need the key of a server that asks for one, which no message shows', async () => {
    const [server] = await startServers(1);
    server!.key = 'right-key';
    const publish = async (key?: string) => {
      await using pool = poolOf('vllm', { key });
      await pool.publish(weightsOf(tempFolder(), 0), new Watch());
    };
    const refusal = await publish('wrong-key').catch((error: unknown) => error as UserError);
    expect(refusal?.message).toMatch(/answers 401 to .*Bearer \[key\] is not the key/);
    expect(refusal?.hint).toMatch(/rollout\.apiKeyEnv/);
    await expect(publish()).rejects.toThrow('answers 401');
    await publish('right-key');
  });

  it('wait for a server, and not for ever', async () => {
    const [server] = await startServers(1);
    await server!.stop();
    await using pool = poolOf('vllm', { patienceSeconds: 0.5 });
    await expect(pool.publish(weightsOf(tempFolder(), 0), new Watch())).rejects.toThrow(
      /no server has answered for 0.5 s\. 127\S+: no connection \(ECONNREFUSED\)/,
    );
  });
});
