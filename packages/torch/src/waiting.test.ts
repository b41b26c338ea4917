import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { expect, it } from 'vitest';

const index = JSON.stringify(new URL('./index.js', import.meta.url).href);

/** Prints the threads that it has at first, while others want the cores, and later. Runs in a process of its own. */
const program = `
  import { readdirSync } from 'node:fs';
  import { setTimeout } from 'node:timers/promises';
  import { ones, setThreads } from ${index};
  setThreads(${Math.max(2, availableParallelism())});
  const count = () => readdirSync('/proc/self/task').length;
  const until = async (reached, work = () => {}) => {
    let seen = count();
    for (const start = Date.now(); !reached(seen) && Date.now() - start < 50_000; seen = count()) {
      work();
      await setTimeout(5);
    }
    return seen;
  };
  const first = count();
  process.stdout.write('began\\n');
  const x = ones([512, 512]);
  const crowded = await until((threads) => threads >= first + 2, () => {
    for (let i = 0; i < 20; i++) x.matmul(x).dispose();
  });
  process.stdout.write('crowded\\n');
  const rest = await until((threads) => threads <= crowded - 2);
  console.log(JSON.stringify({ first, crowded, rest }));
`;

// libgomp spins only a little while it manages more threads than there are processors.
it.runIf(process.platform === 'linux')(
  'threads without work are kept while others want the cores, and go when the process has them',
  async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', program]);
    const others: ReturnType<typeof spawn>[] = [];
    let text = '';
    const leave = () => {
      for (const other of others.splice(0)) other.kill('SIGKILL');
    };
    child.stdout.on('data', (chunk) => {
      text += chunk;
      if (text.includes('crowded')) return leave();
      for (let i = others.length; i < 2 * availableParallelism(); i++)
        others.push(spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
    });
    await new Promise((done) => child.on('close', done));
    leave();
    const { first, crowded, rest } = JSON.parse(text.trimEnd().split('\n').at(-1)!);
    expect(crowded).toBeGreaterThanOrEqual(first + 2);
    expect(rest).toBeLessThanOrEqual(crowded - 2);
  },
  120_000,
);
