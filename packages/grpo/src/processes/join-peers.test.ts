import { afterEach, describe, expect, it, vi } from 'vitest';
import { Abandoned } from '../progress/watch.js';
import { joinPeers } from './join-peers.js';
import { freePort } from './launch.js';

const never = new AbortController().signal;

/** Rank 0 of two processes, of which the other never comes. */
async function alone(): Promise<string> {
  const port = await freePort();
  const env = { RANK: '0', WORLD_SIZE: '2', MASTER_ADDR: '127.0.0.1', MASTER_PORT: String(port) };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  return `127.0.0.1:${port}`;
}
afterEach(() => {
  vi.unstubAllEnvs();
});

describe('joining', () => {
  it('is not needed by one process', async () => {
    expect(await joinPeers({ processes: { timeout: 10 }, device: 'cpu' }, () => {}, never)).toBeUndefined();
  });

  it('names who has not come, and ends after processes.timeout', async () => {
    const place = await alone();
    const notes: string[] = [];
    const joined = joinPeers(
      { processes: { timeout: 0.06 }, device: 'cpu' },
      (text) => notes.push(text),
      never,
    );
    await expect(joined).rejects.toMatchObject({
      name: 'PeerError',
      message: expect.stringContaining('rank 1'),
    });
    expect(notes).toEqual([`Waiting for rank 1 at ${place}.`]);
  });

  it('ends with the signal', async () => {
    await alone();
    const interrupt = new AbortController();
    const joined = joinPeers({ processes: { timeout: 0.1 }, device: 'cpu' }, () => {}, interrupt.signal);
    interrupt.abort();
    await expect(joined).rejects.toBeInstanceOf(Abandoned);
  });
});
