import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { takeSignal, watchSignals } from './signals.js';

/** Sends a signal to this process, and waits for its delivery without a turn of the event loop. */
const send = (name: string) => execFileSync('kill', ['-s', name.slice(3), String(process.pid)]);

it('a watched signal is known before the event loop has its turn, and still handled in it', async () => {
  let handled = 0;
  const handle = () => handled++;
  process.on('SIGHUP', handle);
  try {
    watchSignals(['SIGHUP']);
    watchSignals(['SIGHUP']);
    expect(takeSignal()).toBeUndefined();
    send('SIGHUP');
    expect([takeSignal(), takeSignal(), handled]).toEqual(['SIGHUP', undefined, 0]);
    await expect.poll(() => handled).toBe(1);
  } finally {
    process.off('SIGHUP', handle);
  }
});

it('a signal that nobody handles is left alone', () => {
  // It would end the process otherwise, or be swallowed.
  watchSignals(['SIGHUP']);
  const script = `
    import { watchSignals } from ${JSON.stringify(new URL('./signals.js', import.meta.url).href)};
    watchSignals(['SIGTERM']);
    process.kill(process.pid, 'SIGTERM');
    setTimeout(() => {}, 10_000);
  `;
  const run = () => execFileSync(process.execPath, ['--input-type=module', '-e', script], { stdio: 'pipe' });
  expect(run).toThrow(expect.objectContaining({ signal: 'SIGTERM' }));
});

describe('a second SIGINT', () => {
  /** How a process ends that gets these signals, each so many milliseconds after the one before; its event loop has no turn. */
  async function endOf(turn: string, waits: readonly number[], after = 1500): Promise<string | null> {
    const script = `
      import { takeSignal, watchSignals } from ${JSON.stringify(new URL('./signals.js', import.meta.url).href)};
      process.on('SIGINT', () => {});
      watchSignals(['SIGINT']);
      process.stdout.write('ready');
      const end = performance.now() + ${after};
      while (performance.now() < end) { ${turn} }
      process.exit(0);
    `;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script]);
    const ended = once(child, 'exit');
    await once(child.stdout, 'data');
    for (const wait of waits) {
      await sleep(wait);
      child.kill('SIGINT');
    }
    const [, signal] = await ended;
    return signal;
  }

  it('ends a process in which nobody has heard the first, unless it is its echo', async () => {
    const ends = await Promise.all([
      endOf('', [200, 600], 20_000),
      endOf('', [200, 0]),
      endOf('', [200, 0, 600], 20_000),
    ]);
    expect(ends).toEqual(['SIGINT', null, 'SIGINT']);
  });

  it('is left to a process that took the first', async () => {
    expect(await endOf('takeSignal();', [200, 600])).toBeNull();
  });
});
