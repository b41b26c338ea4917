import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { launch } from './launch.js';

/** Starts `size` processes of a script, which has `rank`, `joining()`, `forever()` and `write()`. */
function launched(size: number, script: string, patienceMs?: number) {
  const folder = tempFolder();
  const [path, out] = [join(folder, 'main.mjs'), join(folder, 'out')];
  writeFileSync(
    path,
    `import { appendFileSync } from 'node:fs';
    const rank = Number(process.env.RANK);
    const joining = () => process.send(12345);
    const forever = () => setInterval(() => {}, 1000);
    const write = (text) => appendFileSync(${JSON.stringify(out)}, text + '\\n');
    ${script}`,
  );
  const notes: string[] = [];
  const processes = launch([path, 'one', 'two'], size, (text) => notes.push(text), patienceMs);
  const lines = () => (existsSync(out) ? readFileSync(out, 'utf8').trimEnd().split('\n').sort() : []);
  const written = async (count: number) => {
    while (lines().length < count) await sleep(10);
    return lines();
  };
  return { ...processes, notes, lines, written };
}

/** Whether a process is still there. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('launched processes', () => {
  it('find each other by the variables of torchrun', async () => {
    const script = `
      const { RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT } = process.env;
      write([RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, ...process.argv.slice(2)]);
      if (rank === 0) joining();
      process.disconnect();`;
    const { ended, lines, notes } = launched(3, script);
    expect(await ended).toBe(0);
    expect(lines()).toEqual(
      [0, 1, 2].map((rank) => `${rank},${rank},3,3,127.0.0.1,${rank === 0 ? 0 : 12345},one,two`),
    );
    expect(notes).toEqual([]);
  });

  it('are not more than one where rank 0 ends before it joins', async () => {
    const { ended, lines } = launched(3, 'write(rank); process.exit(2);');
    expect(await ended).toBe(2);
    expect(lines()).toEqual(['0']);
  });

  it('end with the code of the first that failed', async () => {
    const script = `
      if (rank === 0) process.once('SIGUSR2', () => process.exit(1)), joining(), forever(), write(process.pid);
      else process.kill(process.pid, 'SIGKILL');`;
    const { ended, notes, send, written } = launched(2, script);
    await written(1);
    while (notes.length === 0) await sleep(10);
    expect(notes).toEqual([expect.stringMatching(/^rank 1 \(process \d+\) was ended by SIGKILL\.$/)]);
    send('SIGUSR2');
    expect(await ended).toBe(137);
  });

  it('are killed where they do not end after another', async () => {
    const script = `
      forever();
      write(process.pid);
      if (rank === 0) joining();
      if (rank === 1) process.exit(7);`;
    const { ended, notes, lines } = launched(3, script, 50);
    expect(await ended).toBe(7);
    expect(notes.sort()).toEqual([
      expect.stringMatching(
        /^rank 0 \(process \d+\) did not end by itself after the others had, and is killed\.$/,
      ),
      expect.stringMatching(/^rank 2 /),
    ]);
    expect(lines().filter((pid) => isAlive(Number(pid)))).toEqual([]);
  });

  it('get every signal', async () => {
    const script = `
      process.once('SIGTERM', () => { write('told ' + rank); process.exit(rank === 0 ? 143 : 0); });
      forever();
      if (rank === 0) joining();
      write(rank);`;
    const { ended, notes, send, written } = launched(2, script);
    await written(2);
    send('SIGTERM');
    expect(await ended).toBe(143);
    expect(await written(4)).toEqual(['0', '1', 'told 0', 'told 1']);
    expect(notes).toEqual([]);
  });
});
