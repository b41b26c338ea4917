import { describe, expect, it } from 'vitest';
import { chooseWheel, readIndexPage } from './simple-index.js';

const hash = 'ab'.repeat(32);
const file = (name: string, sha256: string | undefined = hash) => ({
  name,
  url: `https://x/${name}`,
  sha256,
});

describe('readIndexPage', () => {
  it('reads links, relative and absolute, with and without checksum', () => {
    const html = `<!DOCTYPE html><html><body><h1>Links</h1>
      <a href="/whl/cpu/torch-2.13.0%2Bcpu-cp311.whl#sha256=${hash.toUpperCase()}" data-dist-info-metadata="sha256=${'0'.repeat(64)}">torch</a><br/>
      <a data-yanked="" href='https://files.example/a/torch-2.13.0-cp312.whl'>torch</a>
      <A HREF="../b/torch-2.12.0.whl?a=1&amp;b=2#md5=1">torch</A>
      <a href="http://[">broken</a> <a name="x">no link</a>
    </body></html>`;
    expect(readIndexPage(html, 'https://index.example/simple/torch/')).toEqual([
      {
        name: 'torch-2.13.0+cpu-cp311.whl',
        url: 'https://index.example/whl/cpu/torch-2.13.0%2Bcpu-cp311.whl',
        sha256: hash,
      },
      { name: 'torch-2.13.0-cp312.whl', url: 'https://files.example/a/torch-2.13.0-cp312.whl' },
      { name: 'torch-2.12.0.whl', url: 'https://index.example/simple/b/torch-2.12.0.whl?a=1&b=2' },
    ]);
  });
});

describe('chooseWheel', () => {
  const files = [
    'torch-2.12.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl',
    'torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl',
    'torch-2.13.0+cu130-cp311-cp311-manylinux_2_28_x86_64.whl',
    'torch-2.13.0+cpu-cp311-cp311-win_amd64.whl',
    'torch-2.13.0+cpu-cp311-cp311-musllinux_1_2_x86_64.whl',
    'torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_aarch64.whl',
    'torch-2.13.0+cpu-cp313-cp313t-manylinux2014_x86_64.manylinux_2_17_x86_64.whl',
    'torch-2.13.0+cpu-cp314-cp314-linux_x86_64.whl',
    'torch-2.13.0-cp311-none-macosx_14_0_arm64.whl',
  ].map((name) => file(name));

  it.each([
    ['linux', 'x64', 'torch-2.13.0+cpu-cp313-cp313t-manylinux2014_x86_64.manylinux_2_17_x86_64.whl'],
    ['linux', 'arm64', 'torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_aarch64.whl'],
    ['darwin', 'arm64', 'torch-2.13.0-cp311-none-macosx_14_0_arm64.whl'],
  ] as const)('takes the pinned version for %s %s', (platform, arch, name) => {
    expect(chooseWheel(files, platform, arch)).toEqual(file(name));
  });

  it('passes over a wheel without checksum, and takes none where all lack it', () => {
    const bare = file('torch-2.13.0+cpu-cp310-cp310-manylinux_2_28_x86_64.whl');
    const unchecked = { name: bare.name, url: bare.url };
    expect(chooseWheel([unchecked, ...files], 'linux', 'x64')).toEqual(files[6]);
    expect(chooseWheel([unchecked], 'linux', 'x64')).toEqual({
      why: `it gives no SHA-256 for ${bare.name}`,
    });
  });

  it('says what there is none of', () => {
    expect(chooseWheel([], 'linux', 'x64')).toEqual({
      why: 'it has no wheel of torch 2.13.0+cpu for linux x64',
    });
    expect(chooseWheel(files, 'darwin', 'x64')).toEqual({
      why: 'there is no PyTorch 2.13.0 for darwin x64',
    });
  });
});
