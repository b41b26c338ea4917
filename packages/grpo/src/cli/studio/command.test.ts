import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { sharedFolder } from '../../formats/temp-folder.test.helper.js';
import { call, grpo, type Running, start } from '../grpo.test.helper.js';
import { readPage } from './page.js';

const dir = sharedFolder();
beforeAll(() => {
  mkdirSync(join(dir, 'runs/first'), { recursive: true });
  writeFileSync(join(dir, 'runs/first/metrics.jsonl'), '{"step": 1}\n');
});
/** The link that a command prints, once it has. */
async function linkOf({ child, says }: Running): Promise<URL> {
  let text = '';
  child.stdout!.on('data', (chunk: string) => (text += chunk));
  child.stderr!.on('data', (chunk: string) => (text += chunk));
  await says('Studio');
  await says('\n');
  return new URL(/Studio.*: (http:\S+)/.exec(text)![1]!);
}

describe('grpo studio', () => {
  it('serves the folder runs, prints the link, and ends at once with Ctrl-C', async () => {
    const running = start(dir, ['studio', '--port', '0']);
    const link = await linkOf(running);
    expect(link.hostname).toBe('127.0.0.1');
    expect(link.search).toBe('');
    for (const file of ['', 'page.js', 'page.css'])
      expect((await fetch(new URL(file, link))).status).toBe(200);
    const file = new URL('/api/file?path=/runs/first/metrics.jsonl', link);
    expect(await (await fetch(file)).text()).toBe('{"step": 1}\n');
    const events = await fetch(new URL('/api/events', link));
    running.child.kill('SIGINT');
    expect(await running.ended).toEqual({
      code: null,
      signal: 'SIGINT',
      out: `Studio of runs: ${link}\nCtrl-C ends it.\n`,
      err: '',
    });
    await expect(events.text()).rejects.toThrow();
  });

  it('takes the next port when nobody chose one, and refuses one that is taken', async () => {
    const first = start(dir, ['studio', 'runs/first', 'runs/first/metrics.jsonl']);
    const { port } = await linkOf(first);
    const second = start(dir, ['studio']);
    expect((await linkOf(second)).port).not.toBe(port);
    expect(await call(dir, 'studio', '--port', port)).toMatchObject({
      code: 1,
      err: `grpo: port ${port} is taken\nWithout --port, the next free one is used.\n`,
    });
    first.child.kill();
    second.child.kill();
  });

  it('asks for a token on every address but loopback, and says who can read', async () => {
    const running = start(dir, ['studio', '--host', '0.0.0.0', '--port', '0']);
    const link = await linkOf(running);
    expect(link.search).toMatch(/^\?token=[\w-]{43}$/);
    running.child.kill();
    const { out } = await running.ended;
    expect(out).toContain('Whoever has this link can read these paths.\nThe connection is not encrypted.');
  });

  it('does not show a token to other users', async () => {
    const { err, code } = await call(dir, 'studio', '--token', '--open', '--port', '0');
    expect([code, err]).toEqual([
      2,
      'grpo: --open would show the token to other users: open the printed link.\n',
    ]);
  });

  it.each([
    [['--port', 'x'], 2, "grpo: --port must be a whole number from 0 to 65535, found 'x'"],
    [['--port', '65536'], 2, "grpo: --port must be a whole number from 0 to 65535, found '65536'"],
    [['none'], 1, 'grpo: cannot read none: there is no such file in /'],
    [['/dev/null'], 1, 'grpo: /dev/null is neither a file nor a folder'],
    [['--host', 'no-such-host.invalid'], 1, 'grpo: --host no-such-host.invalid has no address: '],
    [
      ['--host', '192.0.2.1'],
      1,
      'grpo: cannot listen on 192.0.2.1, port 4776: this machine does not have that address',
    ],
  ])('%s is an error for people', async (argv, code, text) => {
    const ended = await call(dir, 'studio', ...argv);
    expect(ended.code).toBe(code);
    expect(ended.err).toContain(text);
    expect(ended.out).toBe('');
  });

  it('needs a path where there is no folder runs', async () => {
    const empty = mkdtempSync(join(dir, 'empty-'));
    expect(await call(empty, 'studio')).toMatchObject({
      code: 2,
      err: expect.stringMatching(
        /^grpo: No path is given, and there is no folder runs here\.\n.*grpo studio PATH\n$/,
      ),
    });
  });

  it('says how to build the page where it is not built', () => {
    expect(() => readPage(join(dir, 'nowhere'))).toThrow(
      `The page of the studio is not built: there is no ${dir}`,
    );
  });
});

/** A reward that holds the run's thread until a file is there. */
const HOLDING = `import { existsSync } from 'node:fs';
const pause = new Int32Array(new SharedArrayBuffer(4));
export default ({ completions }) => {
  console.error('holding');
  while (!existsSync('go')) Atomics.wait(pause, 0, 0, 20);
  return completions.map((text) => text.length);
};`;

describe('grpo train --studio', () => {
  const SMALL = ['task.name=arithmetic', 'rollout.prompts=2', 'rollout.group=2', 'rollout.maxNewTokens=8'];

  it('serves the run while a step holds its thread, and ends with it', async () => {
    writeFileSync(join(dir, 'holding.ts'), HOLDING);
    const argv = [...SMALL, 'rewards=[{module: holding.ts}]', 'eval.before=false', 'doctor.onFinding=off'];
    const running = start(dir, ['train', '--studio', ...argv, 'train.steps=1', 'output=runs/live']);
    const link = await linkOf(running);
    expect(link.hash).toBe('#/run/%2Flive');
    await running.says('holding');
    expect(existsSync(join(dir, 'runs/live/run.lock'))).toBe(true);
    const lists = (await (await fetch(new URL('/api/list?path=/live', link))).json()) as Record<
      string,
      unknown
    >;
    expect(lists['/live']).toContainEqual(expect.objectContaining({ name: 'config.json' }));
    const events = await fetch(new URL('/api/events', link));
    writeFileSync(join(dir, 'go'), '');
    // The last change is told before the server ends.
    let told = '';
    const hear = async () => {
      for await (const text of events.body!.pipeThrough(new TextDecoderStream())) told += text;
    };
    await expect(hear()).rejects.toThrow();
    const { code, out, err } = await running.ended;
    expect(code, err).toBe(0);
    expect(told).toContain('"/live"');
    expect(out.split(String(link))).toHaveLength(2);
    await expect(fetch(link)).rejects.toThrow();
  });

  it('serves all arms of a sweep', async () => {
    const argv = [
      ...SMALL,
      'eval.before=false',
      'doctor.onFinding=off',
      'train.steps=1',
      'output=runs/sweep',
    ];
    const ended = await grpo(dir, 'train', '--studio', '--sweep', 'kl.beta=0,0.1', ...argv);
    expect(ended.code, ended.err).toBe(0);
    expect(ended.out.match(/^Studio: http:.*\/$/gm)).toHaveLength(1);
  });

  it('writes a page with its data, and one that takes dropped files', async () => {
    const runs = await call(dir, 'studio', '--bundle', 'bundle', 'runs');
    expect(runs).toMatchObject({ code: 0, err: '' });
    expect(runs.out).toBe(`Page: file://${join(dir, 'bundle/index.html')}\n`);
    expect(readFileSync(join(dir, 'bundle/index.html'), 'utf8')).toContain(
      'data-path="/runs/first/metrics.jsonl"',
    );
    await call(dir, 'studio', '--bundle', 'doctor');
    expect(readFileSync(join(dir, 'doctor/index.html'), 'utf8')).not.toContain('data-path');
    expect(await call(dir, 'studio', '--bundle', 'x', '--port', '1')).toMatchObject({ code: 2 });
  });
});
