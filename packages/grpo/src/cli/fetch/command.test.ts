import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { COMMIT, type HubFiles, hubServer } from '../../hub/hub-server.test.helper.js';
import { call, grpo, start } from '../grpo.test.helper.js';

const FIXTURE = fileURLToPath(new URL('../../../../../parity/fixtures/models/qwen2', import.meta.url));
const NAMES = ['config.json', 'tokenizer.json', 'tokenizer_config.json', 'model.safetensors'];
const MODEL: HubFiles = Object.fromEntries(NAMES.map((name) => [name, readFileSync(join(FIXTURE, name))]));

let cache = '';
beforeEach(() => {
  cache = tempFolder();
  vi.stubEnv('HF_HUB_CACHE', cache);
  vi.stubEnv('HF_TOKEN', '');
  vi.stubEnv('HF_TOKEN_PATH', join(cache, 'no-token'));
  return () => vi.unstubAllEnvs();
});

/** A hub that the commands find by HF_ENDPOINT. */
async function hub(files: HubFiles, about?: Parameters<typeof hubServer>[1]) {
  const server = await hubServer(files, about);
  vi.stubEnv('HF_ENDPOINT', server.endpoint);
  return server;
}

const snapshot = () => join(cache, 'models--some--model/snapshots', COMMIT);

describe('grpo fetch', () => {
  it('gets a model that the other commands take by its name', async () => {
    await hub(MODEL);
    const folder = tempFolder();
    const fetched = await grpo(folder, 'fetch', 'some/model');
    expect(fetched, fetched.err).toMatchObject({ code: 0, err: '' });
    expect(fetched.out).toContain(`some/model at ${COMMIT} (main): 4 files, `);
    expect(fetched.out).toMatch(/^model\.safetensors {2}\d+ kB$/m);
    expect(fetched.out).toMatch(/\nFolder: .*\nUse it as: model=some\/model\n$/);

    const settings = ['rollout.maxNewTokens=3', '--prompt', 'a', '--json'];
    const generate = () => grpo(folder, 'generate', 'model=some/model', ...settings);
    const generated = await generate();
    expect(generated, generated.err).toMatchObject({ code: 0 });
    expect(JSON.parse(generated.out)).toMatchObject({ prompt: 'a', tokens: 3 });
    expect(generated.err).toMatch(/^Device: (cpu|cuda:0) \(auto: .*\)\n$/);
    // A folder of that name wins, even one that is no model.
    mkdirSync(join(folder, 'some/model'), { recursive: true });
    expect((await generate()).err).toMatch(/config\.json/);
  });

  it('gets a dataset and tells the paths of its files', async () => {
    await hub({ 'data/train.jsonl': '{}\n', 'README.md': '' }, { kind: 'dataset', name: 'some/data' });
    const run = await grpo(tempFolder(), 'fetch', 'some/data@v1', '--dataset', '--json');
    expect(run, run.err).toMatchObject({ code: 0 });
    const { folder, files, ...rest } = JSON.parse(run.out);
    expect(rest).toEqual({ kind: 'dataset', name: 'some/data', revision: 'v1', commit: COMMIT });
    expect(files.map((file: string) => readFileSync(join(folder, file), 'utf8'))).toEqual(['', '{}\n']);
    const again = await grpo(tempFolder(), 'fetch', 'some/data', '--dataset', '*.jsonl');
    expect(again.out).toContain(`data/train.jsonl  3 bytes, already there\n`);
    expect(again.out).toContain(`Use it as: task.data=${join(folder, 'data/train.jsonl')}\n`);
  });

  it.each([
    [
      'a family that it does not know',
      { 'config.json': '{"model_type":"mamba"}' },
      /^grpo: some\/model cannot be loaded: config\.json: model_type.*mamba/m,
      /gemma2, gemma3_text/,
    ],
    [
      'a kind of tokenizer that it does not know',
      { 'tokenizer.json': JSON.stringify({ version: '1.0', model: { type: 'WordPiece', vocab: { a: 0 } } }) },
      /^grpo: some\/model cannot be loaded: tokenizer\.json: .*WordPiece/m,
      /BPE/,
    ],
    [
      'quantised weights',
      {
        'config.json': JSON.stringify({
          ...JSON.parse(String(MODEL['config.json'])),
          quantization_config: { bits: 4 },
        }),
      },
      /quantization_config: quantised weights cannot be trained/,
      /take the checkpoint with float weights/,
    ],
  ])('refuses %s before the weights are downloaded', async (_, files, problem, advice) => {
    const server = await hub({ ...MODEL, ...files });
    const run = await call(tempFolder(), 'fetch', 'some/model');
    expect(run.code).toBe(1);
    for (const line of [problem, advice, /Its weights \(\d+ kB\) were not downloaded/])
      expect(run.err).toMatch(line);
    expect(server.askedForLarge.map(({ url }) => url)).not.toContain('/model.safetensors');
    expect(readdirSync(snapshot())).not.toContain('model.safetensors');
  });

  it('goes on where a killed one was', async () => {
    const server = await hub(MODEL);
    const weights = MODEL['model.safetensors'] as Buffer;
    const half = Math.floor(weights.length / 2);
    server.fault = (request, response) => {
      if (request.url !== '/model.safetensors') return false;
      response.writeHead(200, { 'content-length': weights.length });
      response.write(weights.subarray(0, half));
      return true;
    };
    const { child, ended } = start(tempFolder(), ['fetch', 'some/model']);
    const blobs = join(cache, 'models--some--model/blobs');
    const arrived = () =>
      existsSync(blobs) ? readdirSync(blobs).map((name) => statSync(join(blobs, name)).size) : [];
    await expect.poll(arrived, { timeout: 60_000 }).toContain(half);
    child.kill('SIGKILL');
    expect((await ended).signal).toBe('SIGKILL');
    expect(readdirSync(snapshot())).not.toContain('model.safetensors');
    const unfinished = await grpo(tempFolder(), 'generate', 'model=some/model', '--prompt', 'a');
    expect(unfinished.err).toContain('To get it from the hub: npx grpo fetch some/model');

    server.fault = undefined;
    server.askedForLarge.length = 0;
    const second = await grpo(tempFolder(), 'fetch', 'some/model');
    expect(second, second.err).toMatchObject({ code: 0 });
    expect(server.askedForLarge.map(({ range }) => range)).toEqual([
      expect.stringMatching(/^bytes=\d{3,}-$/),
    ]);
    expect(readFileSync(join(snapshot(), 'model.safetensors')).equals(weights)).toBe(true);
  });

  it('is harmed by no other one at the same time', async () => {
    await hub(MODEL);
    const runs = await Promise.all([1, 2, 3].map(() => grpo(tempFolder(), 'fetch', 'some/model')));
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0]);
    for (const name of NAMES) {
      expect(readFileSync(join(snapshot(), name)).equals(MODEL[name] as Buffer)).toBe(true);
    }
    expect(readdirSync(join(cache, 'models--some--model/blobs'))).toHaveLength(NAMES.length);
  });

  it.each([
    [[], 2, 'grpo fetch needs a name, ORG/NAME.'],
    [['gpt2'], 2, "Expected ORG/NAME, found 'gpt2'."],
    [['some/model', '--revision', '../x'], 2, "'../x' cannot be a revision"],
    [['some/model@a', '--revision', 'b'], 2, 'Two revisions are given: a and b.'],
    [['some/model', '--revision', 'v9'], 1, "the model some/model has no revision 'v9' (404)"],
  ])('refuses %o', async (argv, code, message) => {
    await hub(MODEL);
    const run = await call(tempFolder(), 'fetch', ...argv);
    expect(run).toMatchObject({ code, out: '' });
    expect(run.err).toContain(message);
  });
});

describe('GRPO_DEVICE', () => {
  const generate = (...settings: string[]) =>
    grpo(
      tempFolder(),
      'generate',
      `model=${FIXTURE}`,
      'rollout.maxNewTokens=1',
      '--prompt',
      'a',
      ...settings,
    );

  it('chooses the device, unless the command line does', async () => {
    vi.stubEnv('GRPO_DEVICE', 'cpu');
    expect(await generate()).toMatchObject({ code: 0, err: 'Device: cpu (GRPO_DEVICE)\n' });
    vi.stubEnv('GRPO_DEVICE', 'mps');
    expect(await generate('device=cpu')).toMatchObject({ code: 0, err: 'Device: cpu (command line)\n' });
  });

  it('is named when it makes no sense', async () => {
    vi.stubEnv('GRPO_DEVICE', 'gpu');
    const run = await generate();
    expect(run.code).toBe(2);
    expect(run.err).toContain("device: expected auto | cpu | cuda | mps, found 'gpu' (GRPO_DEVICE).");
  });

  it('is written down as the source, and shown once', async () => {
    vi.stubEnv('GRPO_DEVICE', 'cpu');
    const folder = tempFolder();
    const settings = [
      'task.name=arithmetic',
      'train.steps=1',
      'rollout.prompts=2',
      'rollout.group=2',
      'eval.limit=2',
    ];
    const run = await grpo(folder, 'train', ...settings, 'rollout.maxNewTokens=4', 'output=run', '--json');
    expect(run, run.err).toMatchObject({ code: 0 });
    expect(run.err.split('\n').filter((line) => line.startsWith('Device:'))).toEqual([
      'Device: cpu (GRPO_DEVICE)',
    ]);
    const { values } = JSON.parse(readFileSync(join(folder, 'run/config.json'), 'utf8'));
    expect(values.device).toEqual({ value: 'cpu', source: 'GRPO_DEVICE' });
  });
});
