import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import {
  connectionTo,
  expectWhole,
  FILES,
  fetchInto,
  gitHash,
  isWeights,
  NEEDED,
  partials,
  refusalOf,
  WEIGHTS,
} from './fetch.test.helper.js';
import { COMMIT, hubServer } from './hub-server.test.helper.js';
import { modelFolder } from './model-folder.js';
import { claimPartial, releasePartial } from './partial.js';

describe('a fetch', () => {
  it('brings what a model needs into the layout of the shared cache', async () => {
    const cache = tempFolder();
    const hub = await hubServer(FILES);
    const events: string[] = [];
    const { commit, folder, files } = await fetchInto(cache, hub, {
      watcher: {
        planned: ({ files, bytes, missingBytes }) => events.push(`${files} ${bytes === missingBytes}`),
        done: ({ path }, how) => events.push(`${path} ${how}`),
      },
    });
    expectWhole(cache);
    expect(folder).toBe(join(cache, 'models--some--model/snapshots', commit));
    expect(files.toSorted()).toEqual(NEEDED);
    // The weights last, so that an unfinished model has none.
    expect([events[0], events.at(-1)]).toEqual(['5 true', 'model.safetensors fetched']);
    expect(readlinkSync(join(folder, 'config.json'))).toBe(`../../blobs/${gitHash(FILES['config.json'])}`);
    const sha256 = createHash('sha256').update(WEIGHTS).digest('hex');
    expect(readlinkSync(join(folder, 'model.safetensors'))).toBe(`../../blobs/${sha256}`);
  });

  it('brings SentencePiece’s file of a tokenizer where there is no other', async () => {
    const both = { ...FILES, 'tokenizer.model': 'pieces' };
    expect((await fetchInto(tempFolder(), await hubServer(both))).files.toSorted()).toEqual(NEEDED);
    const { 'tokenizer.json': _, ...older } = both;
    const { files } = await fetchInto(tempFolder(), await hubServer(older));
    expect(files.toSorted()).toEqual(
      NEEDED.map((name) => (name === 'tokenizer.json' ? 'tokenizer.model' : name)).toSorted(),
    );
  });

  it('takes what is there already', async () => {
    const cache = tempFolder();
    const hub = await hubServer(FILES);
    await fetchInto(cache, hub);
    const before = hub.askedForLarge.length;
    const how: string[] = [];
    await fetchInto(cache, hub, { watcher: { done: (_, what) => how.push(what) } });
    expect(new Set(how)).toEqual(new Set(['present']));
    expect(hub.askedForLarge).toHaveLength(before);
    // A new commit with the same files has the same blobs.
    hub.commit = 'f'.repeat(40);
    await fetchInto(cache, hub);
    expect(hub.askedForLarge).toHaveLength(before);
    expectWhole(cache, 'f'.repeat(40));
  });

  it('mends a file that was cut short on the disk', async () => {
    const cache = tempFolder();
    const hub = await hubServer(FILES);
    const { folder } = await fetchInto(cache, hub);
    writeFileSync(join(folder, 'model.safetensors'), 'cut');
    await fetchInto(cache, hub);
    expectWhole(cache);
  });

  it('takes the files that are named, and revisions', async () => {
    const cache = tempFolder();
    const hub = await hubServer(FILES);
    const request = { patterns: ['*.onnx', 'README.md'], revision: 'v1' };
    const { files, folder } = await fetchInto(cache, hub, { request });
    expect(files.toSorted()).toEqual(['README.md', 'onnx/model.onnx']);
    expect(readFileSync(join(folder, 'onnx/model.onnx'), 'utf8')).toBe('onnx');
    expect(lstatSync(join(folder, 'onnx/model.onnx')).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(cache, 'models--some--model/refs/v1'), 'utf8')).toBe(COMMIT);
    await fetchInto(cache, hub, { request: { revision: COMMIT } });
    expect(modelFolder(`some/model@${COMMIT}`, cache)).toBe(folder);
    expect(readdirSync(join(cache, 'models--some--model/refs'))).toEqual(['v1']);
  });

  it('brings the data of a dataset', async () => {
    const cache = tempFolder();
    const name = 'some/data';
    const files = {
      'data/train.jsonl': '{}\n',
      'image.png': 'png',
      'README.md': '# Data',
      'a.parquet': 'PAR1',
    };
    const hub = await hubServer(files, { kind: 'dataset', name });
    const fetched = await fetchInto(cache, hub, { request: { kind: 'dataset', name } });
    expect(fetched.files.toSorted()).toEqual(['README.md', 'a.parquet', 'data/train.jsonl']);
    expect(fetched.folder).toBe(join(cache, 'datasets--some--data/snapshots', COMMIT));
    expect(readFileSync(join(fetched.folder, 'data/train.jsonl'), 'utf8')).toBe('{}\n');
  });

  it('shows the token to the hub, and to nobody that the hub points to', async () => {
    const hub = await hubServer(FILES);
    const token = { value: 'other_secret', source: 'HF_TOKEN' };
    await fetchInto(tempFolder(), hub, { connection: connectionTo(hub, { token }) });
    expect(new Set(hub.asked.map(({ authorization }) => authorization))).toEqual(
      new Set(['Bearer other_secret']),
    );
    expect(hub.askedForLarge.length).toBeGreaterThan(0);
    expect(hub.askedForLarge.every(({ authorization }) => authorization === undefined)).toBe(true);
    // Nor to the address where the hub's list goes on.
    const other = await hubServer(FILES);
    hub.fault = (request, response) => {
      if (!request.url!.includes('/tree/')) return false;
      response.writeHead(200, { link: `<${other.endpoint}${request.url}>; rel="next"` }).end('[]');
      return true;
    };
    await fetchInto(tempFolder(), hub, { connection: connectionTo(hub, { token }) });
    expect(other.asked.map(({ authorization }) => authorization)).toEqual([undefined, undefined]);
  });
});

describe('what an ended fetch left', () => {
  it('is gone on with when its process is gone, and left alone while it runs', async () => {
    const cache = tempFolder();
    const hub = await hubServer(FILES);
    const folder = join(cache, 'models--some--model/blobs');
    mkdirSync(folder, { recursive: true });
    const sha = createHash('sha256').update(WEIGHTS).digest('hex');
    // The names that other processes of this machine would give, of which one is there and one is not.
    const own = (pid: number) => {
      const path = claimPartial(tempFolder(), sha);
      releasePartial(path);
      return path.split('/').at(-1)!.replace(`-${process.pid}-`, `-${pid}-`);
    };
    const running = own(process.ppid);
    const gone = own(2 ** 30);
    writeFileSync(join(folder, running), 'not ours');
    writeFileSync(join(folder, gone), WEIGHTS.subarray(0, 1000));
    writeFileSync(join(folder, `${sha}.incomplete`), "another tool's");
    await fetchInto(cache, hub);
    expect(partials(cache).sort()).toEqual([running, `${sha}.incomplete`].sort());
    expect(readFileSync(join(folder, running), 'utf8')).toBe('not ours');
    expect(hub.askedForLarge.map(({ range }) => range)).toContain('bytes=1000-');
  });

  it('is thrown away when it turns out to be torn', async () => {
    const cache = tempFolder();
    const hub = await hubServer(FILES);
    hub.fault = (request, response) => {
      if (!isWeights(request)) return false;
      response.writeHead(200, { 'content-length': 9 });
      response.end('too short');
      return true;
    };
    await refusalOf(fetchInto(cache, hub));
    hub.fault = undefined;
    const [partial] = partials(cache);
    writeFileSync(join(cache, 'models--some--model/blobs', partial!), Buffer.alloc(5000));
    await fetchInto(cache, hub);
    expectWhole(cache);
  });

  it('does not meet what another fetch brings at the same time', async () => {
    const cache = tempFolder();
    const hub = await hubServer(FILES);
    await Promise.all([fetchInto(cache, hub), fetchInto(cache, hub), fetchInto(cache, hub)]);
    expectWhole(cache);
  });
});
