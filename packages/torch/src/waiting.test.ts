import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { expect, it } from 'vitest';

const index = JSON.stringify(new URL('./index.js', import.meta.url).href);

/** Prints the threads that it has at first (the most), at rest, and while others want the cores. Runs in a process of its own. */
const program = `
  import { readdirSync } from 'node:fs';
  import { setTimeout } from 'node:timers/promises';
  import { ones, setThreads } from ${index};
  setThreads(${Math.max(2, availableParallelism())});
  let first = 0;
  const count = () => {
    const seen = readdirSync('/proc/self/task').length;
    first = Math.max(first, seen);
    return seen;
  };
  const until = async (reached, work = () => {}) => {
    let seen = count();
    for (const start = Date.now(); !reached(seen) && Date.now() - start < 50_000; seen = count()) {
      work();
      await setTimeout(5);
    }
    return seen;
  };
  const rest = await until((threads) => threads <= first - 2);
  const atFirst = first;
  process.stdout.write('resting\\n');
  const x = ones([512, 512]);
  const crowded = await until((threads) => threads >= rest + 2, () => {
    for (let i = 0; i < 20; i++) x.matmul(x).dispose();
  });
  console.log(JSON.stringify({ first: atFirst, rest, crowded }));
`;

// libgomp spins only a little while it manages more threads than there are processors.
it.runIf(process.platform === 'linux')(
  'threads without work are kept while others want the cores, and go when the process has them',
  async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', program]);
    const others: ReturnType<typeof spawn>[] = [];
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += chunk;
      if (others.length > 0 || !text.includes('resting')) return;
      for (let i = 0; i < 2 * availableParallelism(); i++)
        others.push(spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
    });
    await new Promise((done) => child.on('close', done));
    for (const other of others) other.kill('SIGKILL');
    const { first, rest, crowded } = JSON.parse(text.split('\n')[1]!);
    expect(rest).toBeLessThanOrEqual(first - 2);
    expect(crowded).toBeGreaterThanOrEqual(rest + 2);
  },
  120_000,
);
