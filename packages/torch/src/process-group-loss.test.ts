import { describe, expect, it } from 'vitest';
import { native } from './native.js';
import { connect, type Rank, startRank, startRanks } from './process-group.test.helper.js';

/** After which all processes have ended. */
const LIMIT = 30;
const ready = "await group.barrier(); console.log('ready');";
const report = `(error) => { console.log(error.name, error.rank, error.message); process.exit(5); }`;
// Calls until somebody is lost.
const calling = `const group = await join(); ${ready}
  for (;;) { await group.sum([tensor([1])]).catch(${report}); await new Promise((next) => setTimeout(next, 50)); }`;
const computing = `const group = await join(); ${ready} const end = Date.now() + 60_000; while (Date.now() < end);`;

const allReady = (ranks: Rank[]) => Promise.all(ranks.map((rank) => rank.printed('ready')));

/** How the processes ended, and that it was soon. */
async function ends(ranks: Rank[]) {
  const start = performance.now();
  const all = await Promise.all(ranks.map((rank) => rank.ended));
  expect((performance.now() - start) / 1000).toBeLessThan(LIMIT);
  return all;
}

describe.skipIf(native.joinGroup === undefined).concurrent('a process group', () => {
  it('ends when rank 0, which serves the store, is killed in a collective', async () => {
    const ranks = startRanks(3, calling);
    await allReady(ranks);
    ranks[0]!.process.kill('SIGKILL');
    for (const { code, stdout } of await ends(ranks.slice(1))) {
      expect(code).toBe(5);
      expect(stdout).toMatch(
        /PeerError 0 rank 0 \(.+, process \d+\) was lost: the store at .+ closed its connection/,
      );
    }
  });

  it('ends when another is killed, in a collective and in a long computation', async () => {
    const waiting = `const group = await join(); ${ready} setInterval(() => {}, 1000);`;
    const bodies = [calling, calling, waiting, computing];
    const ranks = bodies.map((body, rank) => startRank(body, { rank, size: 4 }));
    connect(ranks);
    await allReady(ranks);
    ranks[1]!.process.kill('SIGKILL');
    const [calls, , waits, computes] = await ends(ranks);
    const lost =
      /rank 1 \(.+, process \d+\) was lost: it stopped answering 10 s ago; it was killed or stopped/;
    expect(calls!.code).toBe(5);
    expect(calls!.stdout).toMatch(lost);
    for (const { code, stderr } of [waits!, computes!]) {
      expect(code).toBe(1);
      expect(stderr).toMatch(lost);
      expect(stderr).toMatch(/Rank \d was still at work 15 s later, and is ended\./);
    }
  });

  it('ends when one is stopped, which ends as well when it goes on', async () => {
    const ranks = startRanks(3, calling);
    await allReady(ranks);
    ranks[2]!.process.kill('SIGSTOP');
    const [first] = await ends(ranks.slice(0, 2));
    expect(first!.stdout).toMatch(/PeerError 2 rank 2 \(.+\) was lost: it stopped answering 10 s ago/);
    ranks[2]!.process.kill('SIGCONT');
    const [stopped] = await ends(ranks.slice(2));
    expect(stopped!.code).toBe(5);
    expect(stopped!.stdout).toMatch(/PeerError [02] rank [02] .+(was stopped for \d+ s|was lost)/);
  });

  it.each([0, 1])(
    'ends with the reason when rank %d says that it fails, or ends without leaving',
    async (failing) => {
      const fails = (what: string) =>
        calling.replace('for (;;)', `if (rank === ${failing}) { ${what} } for (;;)`);
      const others = async (body: string) => {
        const ranks = startRanks(3, body);
        return (await ends(ranks)).filter((_, rank) => rank !== failing);
      };
      for (const { code, stdout } of await others(
        fails("group.fail('the reward broke'); process.exit(1);"),
      )) {
        expect(code).toBe(5);
        expect(stdout).toMatch(
          new RegExp(`PeerError ${failing} rank ${failing} \\(.+\\) failed: the reward broke\n`),
        );
      }
      for (const { stdout } of await others(fails("throw new Error('not caught');")))
        expect(stdout).toContain('failed: its process ended with code 1 before it left');
    },
  );

  it('ends when one makes no progress, and not while it says that it does', async () => {
    const body = `const group = await join({ timeoutSeconds: 4 }); ${ready}
      if (rank === 1) {
        const end = Date.now() + 6000;
        while (Date.now() < end) { group.progress(); await new Promise((next) => setTimeout(next, 100)); }
        console.log('worked');
        group.lost.catch(${report});
        await new Promise((next) => setTimeout(next, 60_000));
      }
      await group.barrier().catch(${report});`;
    const all = await ends(startRanks(2, body));
    expect(all[1]!.stdout).toContain('worked');
    for (const { code, stdout } of all) {
      expect(code).toBe(5);
      expect(stdout).toMatch(/PeerError 1 rank 1 \(.+\) made no progress for 4 s/);
    }
  });

  it('says who has not come', async () => {
    const body = `await join({ timeoutSeconds: 4, onMissing: (ranks) => console.log('missing', ranks.join()) }).catch(${report})`;
    const ranks = [0, 2].map((rank) => startRank(body, { rank, size: 4 }));
    connect(ranks);
    for (const { code, stdout } of await ends(ranks)) {
      expect(code).toBe(5);
      expect(stdout).toMatch(/missing 1,3\nPeerError 1 ranks 1, 3 of 4 did not come within 4 s/);
    }
    const [alone] = await ends([startRank(body.replace('4', '2'), { rank: 1, size: 2, port: 1 })]);
    expect(alone!.stdout).toMatch(/Error undefined there is no store at 127\.0\.0\.1:\d+/);
  });
});
