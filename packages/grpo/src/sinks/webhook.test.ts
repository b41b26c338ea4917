import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { WebhookSetting } from '../config/sections/sinks.js';
import { finding, RunFiles } from './run-files.test.helper.js';
import type { FindingRow, Item } from './sink.js';
import { openWebhook } from './webhook.js';

const EVENTS: WebhookSetting['events'] = ['finding', 'end', 'crash'];

/** A service that answers each request with the next status, and 200 afterwards. */
async function service(statuses: number[] = []) {
  const bodies: Record<string, unknown>[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const status = statuses.shift() ?? 200;
    if (status < 300) bodies.push(JSON.parse(text));
    response.writeHead(status, { 'retry-after': '9' });
    response.end(status < 300 ? 'ok' : `no ${request.url}`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/T0/SECRET`, bodies };
}

const found = (step: number, ...severities: ('warn' | 'fail' | 'inform')[]): Item => ({
  kind: 'findings',
  step,
  time: 1,
  findings: severities.map((severity) => ({ ...finding(step), severity }) as unknown as FindingRow),
});

const step = (step: number): Item => ({
  kind: 'step',
  step,
  time: 1,
  values: { reward: 0.25 },
  completions: [],
});

const ended = (how: 'done' | 'crashed', reason?: string): Item => ({
  kind: 'end',
  step: 7,
  time: 1,
  outcome: { how, steps: 7, reason },
});

function open(run: RunFiles, setting: WebhookSetting) {
  return openWebhook({ folder: run.folder, cursor: run.cursor('webhook'), done: 0 }, setting);
}

afterEach(() => vi.unstubAllEnvs());

describe('the webhook', () => {
  it('tells of a finding that begins or gets worse, once, and of the end', async () => {
    const { url, bodies } = await service();
    const run = new RunFiles();
    const name = basename(run.folder);
    const items = [
      found(1, 'inform'),
      step(2),
      found(2, 'warn'),
      found(3, 'warn'),
      found(4, 'fail'),
      ended('done'),
    ];
    await open(run, { webhook: url, events: EVENTS }).send(items);
    expect(bodies).toEqual([
      {
        event: 'finding',
        run: name,
        step: 2,
        text: `${name}, step 2: B49.share warn: The top 1 % of the tokens make up 75 % of the KL (largest 8 nats).`,
        findings: [{ code: 'B49.share', severity: 'warn' }],
      },
      expect.objectContaining({ step: 4, findings: [{ code: 'B49.share', severity: 'fail' }] }),
      {
        event: 'end',
        run: name,
        step: 7,
        text: `${name} is done after 7 steps, reward 0.250`,
        how: 'done',
        reward: 0.25,
      },
    ]);
    // A run that is resumed has the finding still.
    await open(run, { webhook: url, events: EVENTS }).send([found(5, 'fail')]);
    expect(bodies).toHaveLength(3);
  });

  it('tells of a crash in the words of Slack and of Discord', async () => {
    const { url, bodies } = await service();
    for (const format of ['slack', 'discord'] as const) {
      const run = new RunFiles();
      const sink = open(run, { webhook: url, format, events: ['crash'] });
      await sink.send([found(2, 'fail'), ended('crashed', 'out of <memory> & @everyone')]);
      await sink.send([ended('done')]);
    }
    expect(bodies).toEqual([
      { text: expect.stringMatching(/crashed after 7 steps: out of &lt;memory&gt; &amp; @everyone$/) },
      {
        content: expect.stringMatching(/crashed after 7 steps: out of <memory> & @everyone$/),
        allowed_mentions: { parse: [] },
      },
    ]);
  });

  it('tries again after a refusal, and says nothing twice', async () => {
    const { url, bodies } = await service([200, 429, 500]);
    const run = new RunFiles();
    const sink = open(run, { webhook: url, events: EVENTS });
    const items = [found(1, 'warn'), ended('done')];
    await expect(sink.send(items)).rejects.toMatchObject({ retryAfterSeconds: 9 });
    await expect(sink.send(items)).rejects.toThrow(/answers 500/);
    await sink.send(items);
    expect(bodies.map(({ event }) => event)).toEqual(['finding', 'end']);
  });

  it('is shown without its address', async () => {
    const { url } = await service([403, 403]);
    vi.stubEnv('MY_HOOK', ` ${url}\n`);
    const sink = open(new RunFiles(), { webhook: 'MY_HOOK', events: EVENTS });
    expect(sink.place).toBe(new URL(url).origin);
    await expect(sink.send([ended('done')])).rejects.toThrow(/answers 403: "no \[secret\]"/);
    vi.stubEnv('MY_HOOK', `${url}?key=SECRET-KEY`);
    const other = open(new RunFiles(), { webhook: 'MY_HOOK', events: EVENTS });
    const { message } = await other.send([ended('done')]).then(
      () => new Error('taken'),
      (error: Error) => error,
    );
    expect(message).toMatch(/answers 403: "no \[secret\]"/);
  });

  it.each([undefined, 'word', 'file:///etc'])('needs an address in its variable, not %s', (value) => {
    vi.stubEnv('MY_HOOK', value);
    expect(() => open(new RunFiles(), { webhook: 'MY_HOOK', events: EVENTS })).toThrow(
      /environment variable MY_HOOK (is not set|does not hold)/,
    );
  });
});
