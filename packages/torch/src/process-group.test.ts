import { describe, expect, it } from 'vitest';
import { ProcessGroup } from './index.js';
import { native } from './native.js';
import { outputs, startRanks } from './process-group.test.helper.js';

const print = 'console.log(JSON.stringify(result)); await group.dispose();';
const here = native.joinGroup !== undefined;

it.skipIf(here)('says what to do where libtorch has no process groups', async () => {
  const joining = ProcessGroup.join({ rank: 0, size: 1, host: 'localhost', port: 1, servesStore: true });
  await expect(joining).rejects.toThrow(/need libtorch 2\.0 or later .*Run: npx grpo setup/);
});

describe.skipIf(!here)('ProcessGroup', () => {
  it.each([1, 2, 3, 4])('adds up in place, with the same bits in each of %d processes', async (size) => {
    // 0.1, 1e8, −1e8 and so on: another order gives another sum.
    const results = await outputs(
      size,
      `const group = await join();
       const values = (n) => Float32Array.from({ length: n }, (_, i) => [0.1, 1e8, -1e8, 3e-3][(rank + i) % 4] * (1 + i * 1e-3));
       const large = torch.cat(Array(9).fill(tensor(values(1_000_000)))), small = tensor(values(1003), [17, 59]), empty = tensor([]);
       const wide = tensor([rank + 0.1, 1e17 * rank], [2], { dtype: 'float64' });
       const half = tensor(Array.from({ length: size }, (_, i) => (i === rank ? 256 : 1)), [size], { dtype: 'bfloat16' });
       const every = tensor([rank, 0, rank, 0], [2, 2]).t();
       await group.sum([small, large, wide, empty, half, every]);
       const { createHash } = await import('node:crypto');
       const hash = (t) => createHash('sha256').update(t.toBytes()).digest('hex');
       const result = {
         hashes: [small, large].map(hash), wide: wide.toNumbers(), half: half.toNumbers(), every: every.toNumbers(),
         near: [small.toNumbers()[5], large.toNumbers()[8_999_999]],
       };
       ${print}`,
    );
    for (const result of results) expect(result).toEqual(results[0]);
    const { wide, half, every, near } = results[0] as Record<string, number[]>;
    const sum = (of: (rank: number) => number) =>
      Array.from({ length: size }, (_, rank) => of(rank)).reduce((a, b) => a + b);
    expect(wide![0]).toBeCloseTo(
      sum((rank) => rank + 0.1),
      12,
    );
    expect(wide![1]).toBe(sum((rank) => 1e17 * rank));
    // Added up as float32 and rounded once; in bfloat16 256 + 1 is 256, whatever comes after.
    expect(half).toEqual(Array(size).fill([256, 256, 258, 260][size - 1]));
    expect(every).toEqual([sum((r) => r), sum((r) => r), 0, 0]);
    const value = (rank: number, i: number) => [0.1, 1e8, -1e8, 3e-3][(rank + i) % 4]! * (1 + i * 1e-3);
    for (const [place, i] of [5, 999_999].entries()) {
      const most = sum((rank) => Math.abs(value(rank, i)));
      expect(Math.abs(near![place]! - sum((rank) => value(rank, i)))).toBeLessThanOrEqual(
        most * 4 * 2 ** -24,
      );
    }
  });

  it('hands out the values of rank 0, of any type, and everyone’s bytes', async () => {
    const results = await outputs(
      3,
      `const group = await join();
       const types = ['float32', 'int64', 'bool', 'bfloat16', 'uint8', 'float64'];
       const tensors = types.map((dtype) => tensor([rank === 0 ? 1 : 0, rank === 0 ? 0 : 1, 1], [3], { dtype }));
       await group.broadcast(tensors);
       const weights = tensor([rank, rank]);
       weights.requiresGrad = true;
       await group.broadcast([weights]);
       const own = new Uint8Array(rank === 1 ? 33_554_437 : rank * 5).fill(rank + 7);
       if (rank === 1) own[33_554_436] = 99;
       const [a, b, c] = await group.gather(own);
       const none = await group.gather(new Uint8Array());
       await group.barrier();
       const result = {
         values: tensors.map((t) => [t.dtype, ...t.toNumbers()].join()), weights: weights.toNumbers(),
         lengths: [a, b, c].map((x) => x.length), ends: [b.at(-2), b.at(-1), ...c], none: none.map((x) => x.length),
       };
       ${print}`,
    );
    for (const result of results) {
      expect(result).toEqual({
        values: ['float32', 'int64', 'bool', 'bfloat16', 'uint8', 'float64'].map((t) => `${t},1,0,1`),
        weights: [0, 0],
        lengths: [0, 33_554_437, 10],
        ends: [8, 99, ...Array(10).fill(9)],
        none: [0, 0, 0],
      });
    }
  });

  it('refuses what it does not add up, and disposed tensors', async () => {
    const [result] = await outputs(
      1,
      `const group = await join();
       const gone = tensor([1]);
       gone.dispose();
       const messages = [];
       for (const bad of [tensor([1], [1], { dtype: 'int64' }), gone])
         await group.sum([bad]).catch((error) => messages.push(error.message));
       await group.dispose();
       await group.barrier().catch((error) => messages.push(error.message));
       const result = messages;
       ${print}`,
    );
    expect(result).toEqual([
      'tensors of Long are not summed over processes',
      'the tensors[0] is a disposed tensor',
      'this process has left the group',
    ]);
  });

  it('lets JavaScript go on while it waits, and keeps the tensors alive', async () => {
    const results = await outputs(
      2,
      `const group = await join();
       let turns = 0;
       const timer = setInterval(() => turns++, 10);
       if (rank === 1) await new Promise((resolve) => setTimeout(resolve, 500));
       const values = tensor(new Float32Array(100_000).fill(rank + 1));
       const view = values.narrow(0, 0, 1);
       const sum = group.sum([values]);
       values.dispose();
       await sum;
       clearInterval(timer);
       const result = { waited: turns > 5, sum: view.toNumbers() };
       ${print}`,
    );
    expect(results).toEqual([
      { waited: true, sum: [3] },
      { waited: true, sum: [3] },
    ]);
  });

  it('names who has left while another waits for it, and calls that differ', async () => {
    const body = (call: string) => `
      const group = await join();
      await (${call}).catch((error) => { console.log(error.name, error.rank, error.message); process.exit(5); });
      await group.dispose();`;
    const left = startRanks(2, body('rank === 1 ? group.barrier() : Promise.resolve()'));
    const [, waiting] = await Promise.all(left.map((rank) => rank.ended));
    expect(waiting!.stdout).toMatch(
      /^PeerError 0 rank 0 \(.+, process \d+\) has left, and rank 1 waits for it in a barrier/,
    );
    const other = startRanks(2, body('rank === 1 ? group.barrier() : group.sum([tensor([1])])'));
    const ends = await Promise.all(other.map((rank) => rank.ended));
    for (const { stdout, code } of ends) {
      expect(code).toBe(5);
      expect(stdout).toMatch(
        /PeerError \d rank \d \(.+\) is in (a barrier|a sum of 1 tensors with 1 numbers) while rank \d is in a/,
      );
    }
  });
});
