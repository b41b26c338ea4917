import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../libtorch.test.helper.js';
import type { Say } from '../say.js';
import { pinnedTorch } from './pinned.js';
import { hasNvidiaDriver, installWithPip, wheels } from './pip.js';

afterEach(() => vi.unstubAllEnvs());

describe('wheels', () => {
  const names = (lists: string[][]) => lists.map(([wheel]) => wheel);
  const [cpu, standard] = [`torch==${pinnedTorch}+cpu`, `torch==${pinnedTorch}`];

  it('are the small CPU build first where there is no NVIDIA driver', () => {
    expect(names(wheels('linux', false))).toEqual([cpu, standard]);
    expect(wheels('linux', true)).toEqual([[standard]]);
    expect(wheels('darwin', false)).toEqual([[standard, '--no-deps']]);
  });

  it('come with what they depend on where the libraries need that', () => {
    expect(wheels('linux', false).map((args) => args.includes('--no-deps'))).toEqual([true, false]);
  });

  it('come from GRPO_TORCH_INDEX alone when it is set', () => {
    vi.stubEnv('GRPO_TORCH_INDEX', 'https://mirror/simple/');
    for (const args of [...wheels('linux', false), ...wheels('linux', true), ...wheels('darwin', false)]) {
      expect(args.join(' ')).toContain('--index-url https://mirror/simple');
      expect(args).not.toContain('--extra-index-url');
    }
  });
});

describe('installWithPip', () => {
  // A PATH with apt-get, and a python3 that does what `script` says, if given.
  const why = async (script?: string, say: Say = () => {}) => {
    const bin = temporaryFolder();
    const programs = { 'apt-get': 'exit 0', ...(script !== undefined && { python3: script }) };
    for (const [name, text] of Object.entries(programs)) {
      writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
      chmodSync(join(bin, name), 0o755);
    }
    vi.stubEnv('PATH', bin);
    const aside = temporaryFolder();
    return (await installWithPip(join(aside, 'site'), aside, say))?.why;
  };
  const cure =
    process.platform === 'darwin'
      ? 'xcode-select --install'
      : process.getuid?.() === 0
        ? 'apt-get install python3-venv'
        : "su -c 'apt-get install python3-venv'";

  it('names the one command that brings Python and pip', async () => {
    expect(await why()).toBe(`there is no python3 (to have it: ${cure})`);
    expect(await why('exit 1')).toBe(`python3 has neither pip nor venv (to have it: ${cure})`);
  });

  it.runIf(process.platform === 'linux' && !hasNvidiaDriver())(
    'says so before it turns to the build of gigabytes',
    async () => {
      const said: string[] = [];
      const failing = 'case "$3" in --version) exit 0;; esac\nexit 1';
      expect(await why(failing, (line) => said.push(line))).toContain('pip could not install');
      expect(said.map((line) => /gigabytes/.test(line))).toEqual([false, true]);
    },
  );
});
