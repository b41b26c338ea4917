import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../libtorch.test.helper.js';
import { unpackWheel } from './unpack.js';
import { makeZip, type ZipInput } from './zip.test.helper.js';

function unpack(files: ZipInput[], damage = (zip: Buffer) => zip) {
  const folder = temporaryFolder();
  const file = join(folder, 'wheel.zip');
  writeFileSync(file, damage(makeZip(files)));
  const site = join(folder, 'site');
  return { folder, site, done: unpackWheel(file, site, { show: () => {}, end: () => {} }) };
}

it('unpacks the C++ half and nothing else', async () => {
  const big = 'libtorch '.repeat(50_000);
  const { site, done } = unpack([
    { name: 'torch/', content: '' },
    { name: 'torch/lib/libtorch_cpu.so', content: big, mode: 0o100755 },
    { name: 'torch/lib/sub/empty.h', content: '', mode: 0o100600 },
    { name: 'torch/include/torch/x.h', content: 'x' },
    { name: 'torch/version.py', content: "__version__ = '2.13.0+cpu'" },
    { name: 'torch.libs/libgomp.so', content: 'gomp' },
    { name: 'torch-2.13.0+cpu.dist-info/licenses/LICENSE', content: 'BSD' },
    { name: 'torch/nn/__init__.py', content: 'no' },
    { name: 'torch/bin/protoc', content: 'no' },
    { name: 'functorch/lib/x', content: 'no' },
  ]);
  expect(await done).toBeUndefined();
  const files = readdirSync(site, { recursive: true, encoding: 'utf8' });
  expect(files.filter((name) => statSync(join(site, name)).isFile()).sort()).toEqual([
    'torch-2.13.0+cpu.dist-info/licenses/LICENSE',
    'torch.libs/libgomp.so',
    'torch/include/torch/x.h',
    'torch/lib/libtorch_cpu.so',
    'torch/lib/sub/empty.h',
    'torch/version.py',
  ]);
  expect(readFileSync(join(site, 'torch/lib/libtorch_cpu.so'), 'utf8')).toBe(big);
  expect(statSync(join(site, 'torch/lib/libtorch_cpu.so')).mode & 0o700).toBe(0o700);
  expect(statSync(join(site, 'torch/include/torch/x.h')).mode & 0o111).toBe(0);
});

it.each([
  ['../evil', 'torch/../../evil'],
  ['from the root', '/tmp/evil'],
  ['with a backslash', 'torch\\lib\\..\\..\\evil'],
])('refuses a wheel with a name that leads out: %s', async (_, name) => {
  const { folder, done } = unpack([{ name, content: 'evil' }]);
  expect(await done).toEqual({ why: expect.stringContaining('cannot be unpacked') });
  expect(readdirSync(folder)).toEqual(['wheel.zip']);
  expect(existsSync('/tmp/evil')).toBe(false);
});

it('refuses a link', async () => {
  const { done } = unpack([{ name: 'torch/lib/libc10.so', content: '/etc/passwd', mode: 0o120777 }]);
  expect(await done).toEqual({ why: expect.stringContaining('torch/lib/libc10.so is not a plain file') });
});

it('refuses two files of one name', async () => {
  const name = 'torch/version.py';
  const { done } = unpack([
    { name, content: 'a' },
    { name, content: 'b' },
  ]);
  expect(await done).toEqual({ why: expect.stringContaining('EEXIST') });
});

it('refuses what is no zip file, or half of one', async () => {
  const files = [{ name: 'torch/version.py', content: 'x'.repeat(1000) }];
  for (const damage of [() => Buffer.from('<html>'), (zip: Buffer) => zip.subarray(0, zip.length / 2)]) {
    expect(await unpack(files, damage).done).toEqual({ why: expect.stringContaining('cannot be unpacked') });
  }
});
