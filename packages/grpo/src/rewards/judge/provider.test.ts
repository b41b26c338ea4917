import { describe, expect, it } from 'vitest';
import { judgeSection } from '../../config/sections/judge.js';
import { endpointOf } from './chat.js';
import { JudgeStatistics } from './judge-statistics.js';
import { Provider } from './provider.js';
import { type Behaviour, judgeServer, say } from './server.test.helper.js';

const NEVER = new AbortController().signal;

async function providerOf(behaviour: Behaviour, more: object = {}) {
  const { baseURL, asked } = await judgeServer(behaviour);
  const settings = judgeSection.parse({
    baseURL,
    model: 'm',
    prompt: '{completion}',
    retryWaitSeconds: 0.02,
    requestsPerSecond: 1e6,
    ...more,
  });
  const statistics = new JudgeStatistics();
  return { provider: new Provider(endpointOf(settings), settings, statistics), asked, statistics };
}

/** Waits between the requests of one message. */
const gaps = (asked: readonly { at: number }[]) => asked.slice(1).map(({ at }, i) => at - asked[i]!.at);

describe('a provider', () => {
  it('asks again, and waits twice as long each time', async () => {
    const { provider, asked, statistics } = await providerOf((response, _, n) => {
      if (n === 0) response.destroy();
      else if (n === 1) response.writeHead(500).end();
      else if (n === 2) response.end('<html>');
      else say(response, 'fine');
    });
    expect(await provider.ask('hello', [0, 1], NEVER)).toBe('fine');
    expect(asked).toHaveLength(4);
    for (const [i, gap] of gaps(asked).entries()) expect(gap).toBeGreaterThanOrEqual(10 * 2 ** i - 1);
    expect(statistics.counts).toMatchObject({ requests: 4, retries: 3, rateLimited: 0 });
  });

  it('gives up after retries, and at once where asking again is of no use', async () => {
    const failing = await providerOf((response) => response.writeHead(503).end('full'), { retries: 2 });
    await expect(failing.provider.ask('hello', [0, 1], NEVER)).rejects.toThrow(
      /^m@127\.0\.0\.1:\d+: HTTP 503: "full", 3 times$/,
    );
    expect(failing.asked).toHaveLength(3);
    const wrong = await providerOf((response) => response.writeHead(404).end());
    await expect(wrong.provider.ask('hello', [0, 1], NEVER)).rejects.toThrow(/: HTTP 404$/);
    expect(wrong.asked).toHaveLength(1);
    const never = await providerOf(() => undefined, { retries: 1, timeoutSeconds: 0.05 });
    await expect(never.provider.ask('hello', [0, 1], NEVER)).rejects.toThrow(
      'no reply within 0.05 s, 2 times',
    );
    expect(never.statistics.counts.latencyP95).toBeGreaterThanOrEqual(0.049);
  });

  it('waits as long as the server says, with all of its requests', async () => {
    const { provider, asked, statistics } = await providerOf(
      (response, _, n) =>
        n === 0 ? response.writeHead(429, { 'retry-after': '0.3' }).end() : say(response, 'fine'),
      { workers: 1 },
    );
    await Promise.all([provider.ask('a', [0, 1], NEVER), provider.ask('b', [0, 2], NEVER)]);
    expect(asked).toHaveLength(3);
    for (const { at } of asked.slice(1)) expect(at - asked[0]!.at).toBeGreaterThanOrEqual(299);
    expect(statistics.counts).toMatchObject({ rateLimited: 1, retries: 1 });
  });

  it('takes 429 without a time as any other failure, and one of an hour as an end', async () => {
    const plain = await providerOf((response, _, n) =>
      n === 0 ? response.writeHead(429).end() : say(response, 'fine'),
    );
    expect(await plain.provider.ask('hello', [0, 1], NEVER)).toBe('fine');
    const hour = await providerOf((response) => response.writeHead(429, { 'retry-after': '3600' }).end());
    await expect(hour.provider.ask('hello', [0, 1], NEVER)).rejects.toThrow(
      'HTTP 429, and asks to wait 3600 s',
    );
    expect(hour.asked).toHaveLength(1);
  });

  it('has no more requests at a time than workers', async () => {
    let [now, most] = [0, 0];
    const { provider, asked } = await providerOf(
      (response) => {
        most = Math.max(most, ++now);
        setTimeout(() => {
          now--;
          say(response, 'fine');
        }, 5);
      },
      { workers: 3 },
    );
    await Promise.all(Array.from({ length: 20 }, (_, i) => provider.ask(`${i}`, [0, i], NEVER)));
    expect(asked).toHaveLength(20);
    expect(most).toBe(3);
  });

  it('sends no more requests a second than it may', async () => {
    const { provider, asked } = await providerOf((response) => say(response, 'fine'), {
      requestsPerSecond: 50,
      workers: 10,
    });
    const started = performance.now();
    await Promise.all(Array.from({ length: 6 }, (_, i) => provider.ask(`${i}`, [0, i], NEVER)));
    // The sixth may start 5 × 20 ms after the first.
    expect(asked.at(-1)!.at - started).toBeGreaterThanOrEqual(99);
  });

  it('leaves nothing running when it is called off', async () => {
    const controller = new AbortController();
    const { provider, asked } = await providerOf(() => undefined, { workers: 2 });
    const all = Array.from({ length: 5 }, (_, i) => provider.ask(`${i}`, [0, i], controller.signal));
    setTimeout(() => controller.abort(new Error('enough')), 30);
    const ends = await Promise.allSettled(all);
    expect(ends.map((end) => end.status === 'rejected' && end.reason.message)).toEqual(
      Array(5).fill('enough'),
    );
    expect(asked.length).toBeLessThanOrEqual(2);
  });
});
