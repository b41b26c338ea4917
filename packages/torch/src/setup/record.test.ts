import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { inspectLayout, type Layout } from './layout.js';
import { temporaryFolder, writeLibtorch } from './libtorch.test.helper.js';
import { addonPath, type BuildRecord, readBuildRecord, recordPath, writeBuildRecord } from './record.js';

afterEach(() => vi.unstubAllEnvs());

function makeRecord(build: string): BuildRecord {
  const layout = inspectLayout(writeLibtorch(temporaryFolder())) as Layout;
  const addon = addonPath('k', build);
  mkdirSync(dirname(addon), { recursive: true });
  writeFileSync(addon, '');
  const node = { version: 'v20.20.0', modules: '115', arch: 'x64' };
  return { addon, libtorch: { source: 'cache', ...layout }, compiler: 'c++ 12', node, key: 'k' };
}

it('reads what was written, also after the clone has moved', () => {
  const build = join(temporaryFolder(), 'build');
  const record = makeRecord(build);
  expect(readBuildRecord(build)).toBeUndefined();
  writeBuildRecord(record, build);
  expect(readBuildRecord(build)).toEqual(record);
  renameSync(build, `${build} moved`);
  expect(readBuildRecord(`${build} moved`)?.addon).toBe(addonPath('k', `${build} moved`));
  expect(readFileSync(recordPath(`${build} moved`), 'utf8')).not.toContain('torch.node');
});

it('keeps one record for each LIBTORCH and one for none', () => {
  const build = temporaryFolder();
  vi.stubEnv('LIBTORCH', '');
  writeBuildRecord(makeRecord(build), build);
  expect(recordPath(build)).toBe(join(build, 'found-default.json'));
  vi.stubEnv('LIBTORCH', '/usr');
  expect(readBuildRecord(build)).toBeUndefined();
  vi.stubEnv('LIBTORCH', '/usr/');
  expect(recordPath(build)).toMatch(/found-[0-9a-f]{16}\.json$/);
  const slash = recordPath(build);
  vi.stubEnv('LIBTORCH', '/usr');
  expect(recordPath(build)).toBe(slash);
});

it('counts no record whose addon is gone', () => {
  const build = temporaryFolder();
  const record = makeRecord(build);
  writeBuildRecord(record, build);
  renameSync(record.addon, `${record.addon}.gone`);
  expect(readBuildRecord(build)).toBeUndefined();
});
