import { once } from 'node:events';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { native } from './native.js';
import { connect, outputs, startRank } from './process-group.test.helper.js';

const joined = `const group = await join();
  const sum = tensor([1 + rank]);
  await group.sum([sum]);
  const result = sum.toNumbers();
  console.log(JSON.stringify(result));
  await group.dispose();`;
const failed = (timeoutSeconds: number) => `await join({ timeoutSeconds: ${timeoutSeconds} }).then(
    async (group) => { console.log('joined'); await group.barrier(); await group.dispose(); },
    (error) => { console.log(error.name, error.message); process.exitCode = 5; });`;

const interfaces = Object.entries(networkInterfaces());
const [loopback] = interfaces.find(([, addresses]) => addresses!.some((a) => a.address === '127.0.0.1'))!;
const hasIpv6 = interfaces.some(([, addresses]) => addresses!.some((a) => a.address === '::1'));

describe.skipIf(native.joinGroup === undefined).concurrent('joining', () => {
  it('finds a host by its name, by an address of its network, and over IPv6', async () => {
    const own = interfaces
      .flatMap(([, addresses]) => addresses!)
      .find((a) => !a.internal && a.family === 'IPv4');
    for (const host of ['localhost', own?.address, hasIpv6 && '::1'].filter(Boolean))
      expect(await outputs(2, joined, { host })).toEqual([[3], [3]]);
  });

  it('connects by the interface that GLOO_SOCKET_IFNAME names', async () => {
    expect(await outputs(2, joined, {}, { GLOO_SOCKET_IFNAME: loopback })).toEqual([[3], [3]]);
    const env = { GLOO_SOCKET_IFNAME: 'none7' };
    // The wrong interface fails at once; on a busy machine the processes may take seconds to start.
    const ranks = [0, 1].map((rank) => startRank(failed(60), { rank, size: 2 }, rank === 1 ? env : {}));
    connect(ranks);
    const [other, wrong] = await Promise.all(ranks.map((rank) => rank.ended));
    expect(wrong!.stdout).toMatch(/^Error .*none7/);
    expect(other!.stdout).toMatch(
      /^PeerError rank 1 \(.+\) failed: no connection by GLOO_SOCKET_IFNAME=none7: /,
    );
  });

  it('uses the store of an agent, where two groups with prefixes of their own do not meet', async () => {
    const agent = startRank(
      `const group = await join(); console.log('ready');  setInterval(() => {}, 1000);`,
      { rank: 0, size: 1 },
    );
    const groups = ['/worker/attempt_0', '/worker/attempt_1'].map((prefix) =>
      [0, 1].map((rank) =>
        startRank(joined.replace('1 + rank', prefix.endsWith('1') ? '10 + rank' : '1 + rank'), {
          ...{ rank, size: 2, prefix, servesStore: false },
        }),
      ),
    );
    connect([agent, ...groups.flat()]);
    const sums = await Promise.all(
      groups.map((ranks) => Promise.all(ranks.map(async ({ ended }) => (await ended).stdout.trim()))),
    );
    expect(sums).toEqual([
      ['[3]', '[3]'],
      ['[21]', '[21]'],
    ]);
  });

  it('says what is in its way', async () => {
    const says = async (rank: number, size: number, port: number, options = {}) =>
      (await startRank(failed(5), { rank, size, port, ...options }).ended).stdout;
    // Takes the port, and connections, and says nothing.
    const server = createServer().listen(0);
    const { port: taken } = server.address() as { port: number };
    const nowhere = { host: 'no-such-host.invalid' };
    const [inUse, unknown, mute] = await Promise.all([
      says(0, 2, taken),
      says(1, 2, 1, nowhere),
      says(1, 2, taken),
    ]);
    server.close();
    expect(inUse).toMatch(/^Error rank 0 cannot serve the store at 127\.0\.0\.1:\d+: .*in use/);
    expect(unknown).toMatch(
      /^Error there is no store at no-such-host\.invalid:1, for 5 s: 'no-such-host\.invalid' has no address/,
    );
    expect(mute).toMatch(/^Error 127\.0\.0\.1:\d+ does not answer as a store/);

    const waiting = `await join({ onMissing: () => console.log('waits') });`;
    const first = startRank(waiting, { rank: 0, size: 2 });
    const [port] = await once(first.process, 'message');
    // Of two that come at once either may be refused.
    await first.printed('waits');
    expect(await says(0, 2, port, { servesStore: false })).toMatch(
      /^Error another process is rank 0 already, at /,
    );
    expect(await says(1, 3, port)).toMatch(
      /^PeerError rank 0 .+ says that there are 2 processes, rank 1 that there are 3/,
    );
    first.process.kill('SIGKILL');
    await first.ended;
  });
});
