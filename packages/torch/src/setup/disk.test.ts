import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { explainDiskError, makeFolder } from './disk.js';
import { setup } from './index.js';
import { temporaryFolder } from './libtorch.test.helper.js';
import { download } from './pytorch/download.js';
import { sendFile, serve } from './pytorch/server.test.helper.js';
import { SetupError } from './run.js';

afterEach(() => vi.unstubAllEnvs());

it.runIf(existsSync('/dev/full'))('says that the disk is full', async () => {
  await using server = await serve((request, response) => sendFile(request, response, Buffer.alloc(1000)));
  const full = download(server.url, '/dev/full', { sha256: '', say: () => {} });
  const error = explainDiskError(await full.catch((error) => error));
  expect(error).toBeInstanceOf(SetupError);
  expect((error as Error).message).toMatch(/no space is left \(ENOSPC\).*to 1 GB.*XDG_CACHE_HOME=FOLDER/);
  expect(server.asked).toHaveLength(1);
});

it('says where it cannot write, and what puts that elsewhere', async () => {
  vi.stubEnv('LIBTORCH', '');
  vi.stubEnv('XDG_CACHE_HOME', '/dev/null');
  // No python3 that has a PyTorch, but the compiler.
  vi.stubEnv('CXX', process.execPath);
  vi.stubEnv('PATH', temporaryFolder());
  await expect(setup({ quiet: true, build: join(temporaryFolder(), 'build') })).rejects.toThrow(
    /^Set-up cannot write to \/dev\/null\/grpo: part of that path is a file \(ENOTDIR\)/,
  );
});

it.runIf(existsSync('/proc/self'))('does not try for ever where no folder can be made', () => {
  try {
    makeFolder('/proc/none/grpo');
    expect.unreachable();
  } catch (error) {
    expect((explainDiskError(error) as Error).message).toMatch(
      /^Set-up cannot write to \/proc\/none: the system does not allow a folder there \(ENOENT\)/,
    );
  }
});

it('leaves other errors alone', () => {
  const error = Object.assign(new Error('x'), { code: 'EACCES', syscall: 'connect' });
  expect(explainDiskError(error)).toBe(error);
});
