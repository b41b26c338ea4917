import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { UserError } from '../errors/user-error.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import {
  blobs,
  connectionTo,
  expectNoModel,
  FILES,
  fetchInto,
  NEEDED,
  refusalOf,
} from './fetch.test.helper.js';
import { hubServer } from './hub-server.test.helper.js';

/** An address at which nothing listens any more. */
async function closedPort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return `http://127.0.0.1:${port}`;
}

describe('a refusal', () => {
  it('names a revision or a file that is not there', async () => {
    const hub = await hubServer(FILES);
    const revision = await refusalOf(fetchInto(tempFolder(), hub, { request: { revision: 'v2' } }));
    expect(revision.message).toBe("the model some/model has no revision 'v2' (404)");
    expect(revision.hint).toContain(`${hub.endpoint}/some/model/tree/main`);
    const file = await refusalOf(fetchInto(tempFolder(), hub, { request: { patterns: ['confg.json'] } }));
    expect(file.message).toBe("some/model has no file 'confg.json'");
    expect(file.hint).toMatch(/^The nearest one is config\.json\. It has "README\.md, /);
  });

  it('of an unknown name shows the nearest one', async () => {
    const hub = await hubServer(FILES);
    const { message, hint } = await refusalOf(
      fetchInto(tempFolder(), hub, { request: { name: 'some/modle' } }),
    );
    expect(message).toMatch(/^127\.0\.0\.1:\d+ has no public model some\/modle \(401\)$/);
    expect(hint).toBe(
      'The nearest name of that owner is some/model. Check the name; a dataset needs --dataset. A private one needs a token in HF_TOKEN.',
    );
  });

  it.each([
    [
      403,
      'GatedRepo',
      undefined,
      /is gated/,
      /Ask for access on http.*\/some\/model, then put a token of that account into HF_TOKEN/,
    ],
    [403, 'GatedRepo', 'HF_TOKEN', /is gated/, /see that HF_TOKEN holds a token of that account/],
    [401, '', 'HF_TOKEN', /does not let the token of HF_TOKEN read some\/model \(401\)/, /expired/],
    [403, '', '/home/me/token', /does not let the token of \/home\/me\/token read/, /lack the right/],
    [404, '', 'HF_TOKEN', /has no public model some\/model/, /open to the account of the token in HF_TOKEN/],
  ] as const)(
    'with %d %s and the token of %s says what to do',
    async (status, code, source, message, hint) => {
      const hub = await hubServer(FILES);
      hub.fault = (request, response) => {
        if (!request.url!.includes('/revision/')) return false;
        response.writeHead(status, { 'x-error-code': code }).end();
        return true;
      };
      const token = source && { value: 'hf_x', source };
      const said = await refusalOf(
        fetchInto(tempFolder(), hub, { connection: connectionTo(hub, { token }) }),
      );
      expect(said.message).toMatch(message);
      expect(said.hint).toMatch(hint);
      expect(hub.asked.filter(({ url }) => url.includes('/revision/'))).toHaveLength(1);
    },
  );

  it('of a gated file comes when it is asked for', async () => {
    const cache = tempFolder();
    const hub = await hubServer(FILES);
    hub.fault = (request, response) => {
      if (!request.url!.includes('/resolve/')) return false;
      response
        .writeHead(401, { 'x-error-code': 'GatedRepo', 'x-error-message': 'Access is restricted' })
        .end();
      return true;
    };
    const { message } = await refusalOf(fetchInto(cache, hub));
    expect(message).toBe(
      'the model some/model is gated: its owner grants access on request (401: Access is restricted)',
    );
    expect(blobs(cache)).toEqual([]);
  });

  it('comes at once where nothing listens', async () => {
    const hub = await hubServer(FILES);
    const endpoint = await closedPort();
    const connection = connectionTo(hub, { endpoint });
    const { message, hint } = await refusalOf(fetchInto(tempFolder(), hub, { connection }));
    expect(message).toContain(`cannot reach ${endpoint}: connect ECONNREFUSED`);
    expect(hint).toContain('HF_ENDPOINT');
    expect(connection.notes).toEqual([]);
  });

  it('of a model that cannot be loaded comes before anything is got', async () => {
    const without = (...names: string[]) =>
      Object.fromEntries(Object.entries(FILES).filter(([name]) => !names.includes(name)));
    for (const [files, message] of [
      [without('model.safetensors'), /no safetensors weights/],
      [without('tokenizer.json'), /no tokenizer\.json/],
      [without('config.json'), /no config\.json/],
    ] as const) {
      const cache = tempFolder();
      await expect(fetchInto(cache, await hubServer(files))).rejects.toThrow(message);
      expect(readdirSync(cache)).toEqual([]);
    }
  });

  it('of a model with the older files of a tokenizer says how to make the newer one', async () => {
    const { 'tokenizer.json': _, ...files } = FILES;
    const refused = async (added: object) =>
      refusalOf(fetchInto(tempFolder(), await hubServer({ ...files, ...added })));
    const older = await refused({ 'vocab.json': '{}', 'merges.txt': '' });
    expect(older.message).toContain('has no tokenizer.json');
    expect(older.hint).toContain('transformers makes tokenizer.json from vocab.json and merges.txt');
    expect((await refused({})).hint).not.toContain('transformers');
  });

  it('of pickled weights says how to come by others, of an adapter what it is', async () => {
    const { 'model.safetensors': _, 'pytorch_model.bin': __, ...files } = FILES;
    const refused = async (added: object) =>
      refusalOf(fetchInto(tempFolder(), await hubServer({ ...files, ...added })));
    const pickled = await refused({ 'pytorch_model-00001-of-00002.bin': 'pickle' });
    expect(pickled.message).toContain('no safetensors weights');
    expect(pickled.hint).toMatch(/pickled.*--revision refs\/pr\/1.*save_pretrained/);
    expect((await refused({ 'model.gguf': '' })).hint).toContain('GGUF weights are not read');
    const adapter = await refused({ 'adapter_config.json': '{}', 'adapter_model.safetensors': '' });
    expect(adapter.message).toBe('some/model is an adapter, not a model');
    expect(adapter.hint).toContain(
      'grpo fetch some/model adapter_config.json adapter_model.safetensors, and the model that it names',
    );
  });

  it('of a judge comes when all but the weights is there, and says so', async () => {
    const cache = tempFolder();
    const hub = await hubServer(FILES);
    const judge = (folder: string) => {
      expect(readdirSync(folder).sort()).toEqual(NEEDED.filter((name) => name !== 'model.safetensors'));
      throw new UserError(`${folder}/config.json: model_type: no qwen2 today`, { hint: 'Take another.' });
    };
    const { message, hint } = await refusalOf(fetchInto(cache, hub, { judge }));
    expect(message).toBe('some/model cannot be loaded: config.json: model_type: no qwen2 today');
    expect(hint.split('\n')).toEqual([
      'Take another.',
      'Its weights (400 kB) were not downloaded, only the files beside them.',
      "To download them anyway, name them: npx grpo fetch some/model '*.safetensors'",
    ]);
    expect(hub.askedForLarge.filter(({ url }) => url === '/model.safetensors')).toEqual([]);
    expectNoModel(cache);
    // Named files are not judged.
    const request = { patterns: ['*.safetensors'] };
    expect((await fetchInto(cache, hub, { judge, request })).files).toEqual(['model.safetensors']);
  });

  it('of a judge is no error of another kind', async () => {
    const broken = new TypeError('a mistake of ours');
    const judge = () => {
      throw broken;
    };
    await expect(fetchInto(tempFolder(), await hubServer(FILES), { judge })).rejects.toBe(broken);
  });

  it('of a model that lacks a shard names it', async () => {
    const { 'model.safetensors': _, ...files } = FILES;
    const shards = { 'model-00001-of-00002.safetensors': 'one', 'model-00002-of-00002.safetensors': 'two' };
    const map = Object.fromEntries(Object.keys(shards).map((name, i) => [`w${i}`, name]));
    const index = { 'model.safetensors.index.json': JSON.stringify({ weight_map: map }) };
    const cache = tempFolder();
    const hub = await hubServer({ ...files, ...index, 'model-00001-of-00002.safetensors': 'one' });
    const { message } = await refusalOf(fetchInto(cache, hub));
    expect(message).toBe('some/model is incomplete on the hub: it lacks model-00002-of-00002.safetensors');
    const whole = await fetchInto(cache, await hubServer({ ...files, ...index, ...shards }));
    expect(whole.files).toContain('model-00002-of-00002.safetensors');
  });

  it('of a cache that cannot be written names it', async () => {
    const file = join(tempFolder(), 'file');
    writeFileSync(file, '');
    const { message } = await refusalOf(fetchInto(file, await hubServer(FILES)));
    expect(message).toMatch(/^cannot write .*models--some--model\/blobs: a part of the path is a file/);
  });

  it('for want of space comes before anything is got', async () => {
    const cache = tempFolder();
    const hub = await hubServer(FILES);
    hub.lies.set('model.safetensors', { lfs: { oid: 'c'.repeat(64), size: 2 ** 52 } });
    const { message, hint } = await refusalOf(fetchInto(cache, hub));
    expect(message).toMatch(/^not enough space in .*: 4\.5 PB are needed, .* are free$/);
    expect(hint).toContain('HF_HOME');
    expect(blobs(cache)).toEqual([]);
  });
});
