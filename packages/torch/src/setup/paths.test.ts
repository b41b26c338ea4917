import { mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { temporaryFolder } from './libtorch.test.helper.js';
import { buildDir, cacheDir } from './paths.js';

afterEach(() => vi.unstubAllEnvs());

describe('cacheDir', () => {
  it('is where the system keeps caches', () => {
    vi.stubEnv('XDG_CACHE_HOME', '');
    expect(cacheDir('linux')).toBe(join(homedir(), '.cache/grpo'));
    expect(cacheDir('darwin')).toBe(join(homedir(), 'Library/Caches/grpo'));
    vi.stubEnv('XDG_CACHE_HOME', '/elsewhere');
    expect(cacheDir('linux')).toBe('/elsewhere/grpo');
    vi.stubEnv('XDG_CACHE_HOME', 'relative');
    expect(cacheDir('linux')).toBe(join(homedir(), '.cache/grpo'));
  });
});

describe('buildDir', () => {
  const install = (version: string, folder = join(temporaryFolder(), 'node_modules/@grpo/torch/')) => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ version }));
    return folder;
  };

  it('is in a clone', () => {
    expect(buildDir('/home/me/grpo.ts/packages/torch/')).toBe('/home/me/grpo.ts/packages/torch/build');
  });

  it('is in the cache for an installed package, one for each place and version', () => {
    vi.stubEnv('XDG_CACHE_HOME', '/cache');
    const folder = install('1.0.0');
    const first = buildDir(folder);
    expect(dirname(first)).toBe('/cache/grpo/build');
    expect(buildDir(folder)).toBe(first);
    expect(buildDir(install('1.0.0'))).not.toBe(first);
    expect(buildDir(install('1.0.1', folder))).not.toBe(first);
  });
});
