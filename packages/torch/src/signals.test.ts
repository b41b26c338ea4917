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

describe('a second SIGINT, where the event loop has no turn', () => {
  /** How a process ends that gets these signals, each so many milliseconds after the one before. */
  async function endOf(turn: string, waits: readonly number[], after = 8000): Promise<string | null> {
    const script = `
      import { takeSignal, watchSignals } from ${JSON.stringify(new URL('./signals.js', import.meta.url).href)};
      process.on('SIGINT', () => {});
      watchSignals(['SIGINT']);
      process.stdout.write('ready');
      const end = performance.now() + ${after};
      const cell = new Int32Array(new SharedArrayBuffer(4));
      while (performance.now() < end) { ${turn} Atomics.wait(cell, 0, 0, 20); }
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

  it('ends the process five seconds after the first, unless that was taken', async () => {
    const ends = await Promise.all([
      endOf('', [200, 5500], 60_000),
      endOf('', [200, 0, 1000, 4500], 60_000),
      endOf('', [200, 0, 1000], 2000),
      endOf('takeSignal();', [200, 5500]),
    ]);
    expect(ends).toEqual(['SIGINT', 'SIGINT', null, null]);
  });
});
