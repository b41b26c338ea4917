import { rmSync, symlinkSync, utimesSync } from 'node:fs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { whyNotLoaded, whyOtherLibtorch, whyReplaced } from './fit.js';
import { inspectLayout, type Layout } from './layout.js';
import { temporaryFolder, writeLibtorch } from './libtorch.test.helper.js';

describe('whyReplaced', () => {
  it('notices that libtorch was replaced or removed', () => {
    const layout = inspectLayout(writeLibtorch(temporaryFolder())) as Layout;
    expect(whyReplaced(layout)).toBeUndefined();
    utimesSync(layout.stamp.file, 1, 1);
    expect(whyReplaced(layout)).toBe(
      `the libtorch in ${layout.root} was replaced after the addon was built against its version 2.13.0`,
    );
    rmSync(layout.stamp.file);
    symlinkSync(layout.stamp.file, layout.stamp.file);
    expect(whyReplaced(layout)).toMatch(/, which the addon was built against, cannot be read \(ELOOP: /);
    rmSync(layout.root, { recursive: true });
    expect(whyReplaced(layout)).toContain('is gone');
  });
});

describe('whyNotLoaded', () => {
  afterEach(() => vi.unstubAllEnvs());
  const libtorch = { root: '/opt/torch', version: '2.13.0' };
  const why = (path: string) => {
    vi.stubEnv('LD_LIBRARY_PATH', path);
    return whyNotLoaded(libtorch, 'torch.node: undefined symbol: _ZN3c10\nmore');
  };

  it('names the cure: set-up, unless LD_LIBRARY_PATH may be the cause', () => {
    const text =
      'the libtorch addon does not load (torch.node: undefined symbol: _ZN3c10). ' +
      'It was built for libtorch 2.13.0 in /opt/torch. ';
    expect(why('')).toBe(`${text}Run: npx grpo setup`);
    expect(why('/usr/lib')).toBe(
      `${text}LD_LIBRARY_PATH is set: where it leads to another libtorch, unset it. Otherwise run: npx grpo setup`,
    );
  });
});

describe('whyOtherLibtorch', () => {
  const configuration =
    'PyTorch built with:\n  - Build settings: LAPACK_INFO=mkl, TORCH_VERSION=2.13.0, USE_CUDA=0, ';

  it('compares the headers with the library', () => {
    expect(whyOtherLibtorch('2.13.0', configuration)).toBeUndefined();
    expect(whyOtherLibtorch('2.12.1', configuration)).toBe(
      'it was built against libtorch 2.12.1, but libtorch 2.13.0 was loaded (does LD_LIBRARY_PATH lead there?)',
    );
  });
});
