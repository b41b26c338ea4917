import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

/** What a process of its own says that joins a run as rank 0 of `size`, of which the others never come. */
async function joining(size: number, { timeout = 10, interruptAfterMs = 1e6 } = {}) {
  const script = `
    const { joinPeers } = await import(${JSON.stringify(new URL('./join-peers.js', import.meta.url).href)});
    const interrupt = new AbortController();
    setTimeout(() => interrupt.abort(), ${interruptAfterMs}).unref();
    const settings = { processes: { timeout: ${timeout} }, device: 'cpu' };
    const joined = joinPeers(settings, (text) => console.log(text), interrupt.signal);
    await joined.then((group) => console.log(typeof group), (error) => console.log(error.name + ': ' + error.message));
    process.exit();`;
  const env = { RANK: '0', WORLD_SIZE: String(size), MASTER_ADDR: '127.0.0.1', MASTER_PORT: '0' };
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    env: { ...process.env, ...env },
  });
  return stdout.trimEnd().split('\n');
}

describe('joining', () => {
  it('is nothing for one process', async () => {
    expect(await joining(1)).toEqual(['undefined']);
  });

  it('names who has not come, and ends after processes.timeout', async () => {
    const said = await joining(3, { timeout: 0.06 });
    expect(said).toEqual([
      expect.stringMatching(/^Waiting for rank 1, 2 at 127\.0\.0\.1:[1-9]\d*\.$/),
      expect.stringMatching(/^PeerError: .*rank/),
    ]);
  });

  it('ends with the signal', async () => {
    expect(await joining(2, { interruptAfterMs: 100 })).toEqual(['Error: abandoned']);
  });
});
