import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
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
