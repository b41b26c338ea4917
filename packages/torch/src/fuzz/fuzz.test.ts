import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { typedNames } from './typed-calls.test.helper.js';

interface Account {
  /** Counts by the name of the call. */
  account: Record<string, { refused: number; valid: number }>;
  /** Most resident memory after an episode, in bytes. */
  rss: number;
}

/** Random calls in a process of its own, with at most 3 GB of memory: what would take more must be refused. */
function run(seed: number, calls: number): Account {
  const folder = mkdtempSync(join(tmpdir(), 'grpo-fuzz-'));
  const log = join(folder, 'log');
  const script = fileURLToPath(new URL('run.test.helper.js', import.meta.url));
  const limited = [
    '-c',
    'ulimit -d 3000000; exec "$@"',
    'sh',
    process.execPath,
    script,
    `${seed}`,
    `${calls}`,
    log,
  ];
  try {
    // On a machine with a GPU its libraries would take the memory.
    const env = { ...process.env, CUDA_VISIBLE_DEVICES: '' };
    const child = spawnSync('sh', limited, { encoding: 'utf8', timeout: 100_000, env });
    if (child.status === 0) return JSON.parse(child.stdout) as Account;
    const how = child.error?.message ?? child.signal ?? `exit ${child.status}`;
    throw new Error(`${how} at ${readFileSync(log, 'utf8').trim()}\n${child.stderr.slice(-3000)}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('random calls of operators and methods', () => {
  it('end with an error or a valid result: no crash, no leak, bounded memory, each name both ways', () => {
    const { account, rss } = run(1, 28_000);
    const total = Object.values(account).reduce((sum, { refused, valid }) => sum + refused + valid, 0);
    expect(total).toBe(28_000);
    const oneSided = typedNames.filter((name) => !account[name]!.refused || !account[name]!.valid);
    expect(oneSided).toEqual([]);
    expect(rss / 2 ** 20).toBeLessThan(800);
  });
});
