import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { fetchInto } from '../hub/fetch.test.helper.js';
import { COMMIT, hubServer } from '../hub/hub-server.test.helper.js';
import { loadModel } from '../models/index.js';
import { run } from './run.test.helper.js';

const fixture = (name: string) =>
  fileURLToPath(new URL(`../../../../parity/fixtures/models/${name}`, import.meta.url));

/** Fetches a folder that transformers wrote from a hub into the cache. */
async function fetched(name: string, cache: string): Promise<void> {
  const paths = readdirSync(fixture(name)).filter((path) => !path.startsWith('expected'));
  const files = Object.fromEntries(paths.map((path) => [path, readFileSync(join(fixture(name), path))]));
  await fetchInto(cache, await hubServer(files, { name: `tests/${name}` }), {
    request: { name: `tests/${name}` },
  });
}

let cache = '';
beforeEach(() => {
  cache = tempFolder();
  vi.stubEnv('HF_HUB_CACHE', cache);
  return () => vi.unstubAllEnvs();
});

describe('a model in the Hugging Face cache', () => {
  it.each(['qwen2', 'llama3-sharded'])('loads by its name: %s', async (name) => {
    await fetched(name, cache);
    const byName = loadModel(`tests/${name}`);
    const byPath = loadModel(fixture(name));
    expect([...byName.decoder.parameters.keys()]).toEqual([...byPath.decoder.parameters.keys()]);
    for (const [key, parameter] of byName.decoder.parameters) {
      expect(parameter.toBytes()).toEqual(byPath.decoder.parameters.get(key)!.toBytes());
    }
    expect(byName.files).toEqual(byPath.files);
    for (const model of [byName, byPath]) model.decoder.dispose();
  });

  it('trains, is written down as its commit, and the run goes on with it', async () => {
    await fetched('qwen2', cache);
    const output = join(tempFolder(), 'run');
    const data = join(tempFolder(), 'data.jsonl');
    const rows = Array.from({ length: 6 }, (_, i) => ({ question: `${i}+${i}=`, answer: 2 * i }));
    writeFileSync(data, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    const prompt = join(tempFolder(), 'prompt.txt');
    writeFileSync(prompt, '{question}');
    const settings = [
      'model=tests/qwen2',
      `task.prompt=${prompt}`,
      'task.name=jsonl',
      `task.data=${data}`,
      'task.evalSize=2',
    ];
    const options = { output, settings: [...settings, 'kl.beta=0.1', 'train.steps=2'] };
    const first = await run({ ...options, stopAfter: 1 });
    expect(first.rows).toHaveLength(1);
    const { values } = JSON.parse(readFileSync(join(output, 'config.json'), 'utf8'));
    expect(values.model).toEqual({ value: `tests/qwen2@${COMMIT}`, source: 'command line (tests/qwen2)' });

    // The branch moves on; the run's reference model stays the one it was.
    rmSync(join(cache, 'models--tests--qwen2/refs/main'));
    const pinned = options.settings.map((setting) => setting.replace('tests/qwen2', values.model.value));
    const second = await run({ output, settings: pinned, resume: true });
    expect(second.rows.map(({ step }) => step)).toEqual([2]);
    expect(readdirSync(join(output, 'checkpoints/step-2'))).toContain('model.safetensors');
  });
});
