import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { folderOf } from '../../../formats/temp-folder.test.helper.js';
import { givenPaths } from '../given-paths.js';
import { ChangeWatch } from './change-watch.js';
import { EventStream } from './event-stream.js';
import { type Served, serve, until } from './studio-server.test.helper.js';

/** Listens to a server until the test ends. */
async function listen(server: Served, lastEvent = '', told: 'header' | 'address' = 'header') {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const isHeader = told === 'header' && lastEvent !== '';
  const answer = await server.get(`api/events${isHeader ? '' : `?after=${lastEvent}`}`, {
    signal: stop.signal,
    headers: isHeader ? { 'last-event-id': lastEvent } : {},
  });
  const heard: string[][] = [];
  const listening = { answer, heard, stop, id: '' };
  void (async () => {
    let text = '';
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const lines = text.slice(0, end).split('\n');
        text = text.slice(end + 2);
        const field = (name: string) =>
          lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
        listening.id = field('id') ?? listening.id;
        if (field('event') === 'change') heard.push(JSON.parse(field('data')!).paths);
      }
    }
  })().catch(() => {});
  await until(() => listening.id !== '');
  return listening;
}

function runFolder() {
  const folder = folderOf({ 'run/metrics.jsonl': '{}\n', 'run/steps/1/x': '', 'run/steps/2/x': '' });
  return {
    folder: join(folder, 'run'),
    write: (name: string) => appendFileSync(join(folder, 'run', name), '{}\n'),
  };
}

describe('events', () => {
  it('name the folders that were listed or read, and in which something changed', async () => {
    const { folder, write } = runFolder();
    const server = await serve([folder]);
    await server.list('/run');
    await server.file('/run/steps/1/x');
    const { answer, heard } = await listen(server);
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    write('metrics.jsonl');
    await until(() => heard.length === 1);
    expect(heard).toEqual([['/run']]);
    write('steps/1/x');
    await until(() => heard.length === 2);
    expect(heard[1]).toEqual(['/run/steps/1']);
    write('steps/2/x');
    rmSync(join(folder, 'steps/1'), { recursive: true });
    await until(() => heard.length === 3);
    expect(heard[2]!.sort()).toEqual(['/run/steps', '/run/steps/1']);
    writeFileSync(join(folder, 'config.json'), '{}');
    await until(() => heard.length === 4);
    expect(heard[3]).toEqual(['/run']);
  });

  it('tell what changed between a list and the first look', async () => {
    const { folder, write } = runFolder();
    const server = await serve([folder]);
    await server.list('/run');
    write('metrics.jsonl');
    // Another page sees the new list; the first one has not.
    await server.list('/run');
    const { heard } = await listen(server);
    await until(() => heard.length === 1);
    expect(heard).toEqual([['/run']]);
  });

  it('that a page missed while it was away come when it is back', async () => {
    const { folder, write } = runFolder();
    const server = await serve([folder]);
    await server.list('/run');
    await server.list('/run/steps');
    const [first, other] = [await listen(server), await listen(server)];
    const { id } = first;
    first.stop.abort();
    write('metrics.jsonl');
    await until(() => other.heard.length === 1);
    const back = await listen(server, id);
    await until(() => back.heard.length === 1);
    expect(back.heard).toEqual([['/run']]);
    const seenAgain = await listen(server, id, 'address');
    await until(() => seenAgain.heard.length === 1);
    expect(seenAgain.heard).toEqual([['/run']]);
    const current = await listen(server, other.id);
    mkdirSync(join(folder, 'steps/3'));
    await until(() => current.heard.length === 1);
    expect(current.heard).toEqual([['/run/steps']]);
  });

  it('of another server before it stand for a change of everything', async () => {
    const server = await serve([runFolder().folder]);
    const { heard } = await listen(server, 'AAAAAAAA.7');
    await until(() => heard.length === 1);
    expect(heard).toEqual([['/']]);
  });

  it('end with the server, at once', async () => {
    const server = await serve([runFolder().folder]);
    const { answer } = await listen(server);
    server.close();
    await server.closed;
    expect(answer.bodyUsed).toBe(true);
  });

  it('are told once more before a run ends', async () => {
    const { folder, write } = runFolder();
    const server = await serve([folder]);
    await server.list('/run');
    const { heard } = await listen(server);
    write('metrics.jsonl');
    await server.settle();
    expect(heard).toEqual([['/run']]);
  });
});

describe('listeners', () => {
  /** A response whose bytes nobody takes. */
  const response = () => {
    const answer = new ServerResponse(request());
    answer.assignSocket(new Duplex({ read() {}, write() {} }) as Socket);
    return answer;
  };
  const request = () => Object.assign(new IncomingMessage(new Socket()), { method: 'GET' });

  it('that are too slow are cut off, and those that left are forgotten', async () => {
    const { folder, write } = runFolder();
    const changes = new ChangeWatch(givenPaths([folder]));
    changes.watch(['run']);
    const events = new EventStream(changes);
    const [slow, other] = [response(), response()];
    events.add(request(), slow);
    events.add(request(), other);
    slow.write(Buffer.alloc(2 ** 20 + 1));
    write('metrics.jsonl');
    await events.tell();
    expect([slow.destroyed, other.destroyed]).toEqual([true, false]);
    expect(events.hasListeners).toBe(true);
    other.destroy();
    await until(() => !events.hasListeners);
  });

  it('are refused beyond a number', () => {
    const events = new EventStream(new ChangeWatch([]));
    for (let i = 0; i < 64; i++) events.add(request(), response());
    expect(() => events.add(request(), response())).toThrow('Too many pages listen.');
  });
});

it('folders that nobody asked for longest are let go beyond a number', async () => {
  const { folder, write } = runFolder();
  const changes = new ChangeWatch(givenPaths([folder]));
  changes.watch(['run']);
  for (let i = 0; i < 4095; i++) changes.watch([`f${i}`], []);
  changes.watch(['run']);
  changes.watch(['one more'], []);
  write('metrics.jsonl');
  // Those that are not there count as changed; the first of them is no longer looked for.
  const changed = await changes.look();
  expect(changed).toContain('/run');
  expect(changed).not.toContain('/f0');
  expect(changed).toContain('/f1');
});
