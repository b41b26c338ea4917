import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';

/** On one core: eight threads that never rest, and a reward that takes 300 ms of it. */
const BUSY = (module: string, seconds: number) => `
import { Worker } from 'node:worker_threads';
import { loadReward } from ${JSON.stringify(fileURLToPath(new URL('../load-reward.js', import.meta.url)))};
const reward = await loadReward({ module: ${JSON.stringify(module)}, weight: 1, timeoutSeconds: ${seconds} });
const busy = Array.from({ length: 8 }, () => new Worker('for (;;);', { eval: true }));
const batch = { prompts: ['p'], completions: ['c'], rows: [{}] };
console.log(await reward.score(batch).catch((error) => error.message));
process.exit();
`;

const REWARD = `
import { readFileSync } from 'node:fs';
const own = () => Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6;
export default ({ rows }) => {
  for (const end = own() + 300; own() < end; );
  return [1];
};
`;

const canTell =
  existsSync('/proc/thread-self/schedstat') && spawnSync('taskset', ['-c', '0', 'true']).status === 0;

describe.runIf(canTell)('the time limit of a reward on a busy core', () => {
  it('counts the time that the reward itself takes', () => {
    const dir = tempFolder();
    const module = join(dir, 'reward.mjs');
    writeFileSync(module, REWARD);
    const score = (seconds: number) => {
      const main = join(dir, 'main.mjs');
      writeFileSync(main, BUSY(module, seconds));
      return spawnSync('taskset', ['-c', '0', process.execPath, main], { encoding: 'utf8' }).stdout;
    };
    expect(score(0.8)).toBe('[ 1 ]\n');
    expect(score(0.1)).toBe('took longer than 0.1 s\n');
  });
});
