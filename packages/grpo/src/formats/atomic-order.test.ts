import * as fs from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { writeFileAtomic } from './atomic-file.js';
import { tempFolder } from './temp-folder.test.helper.js';

const calls = vi.hoisted(() => [] as unknown[][]);

vi.mock('node:fs', async (original) => {
  const real = await original<typeof fs>();
  const noted =
    <F extends (...args: never[]) => unknown>(name: string, call: F) =>
    (...args: Parameters<F>) => {
      const result = call(...args);
      calls.push([name, ...args.slice(0, 2), result]);
      return result;
    };
  const { openSync, writeSync, fsyncSync, closeSync, renameSync } = real;
  const watched = { openSync, writeSync, fsyncSync, closeSync, renameSync };
  const entries = Object.entries(watched).map(([name, call]) => [name, noted(name, call as () => unknown)]);
  return { ...real, ...Object.fromEntries(entries) };
});

it('a file is on the disk before it has its name, and the name before anything else is done', () => {
  const folder = tempFolder();
  const path = join(folder, 'a');
  calls.length = 0;
  writeFileAtomic(path, 'content');
  const [opened, wrote, flushed, closed, renamed, ...folderCalls] = calls;
  const [name, temporary, , fd] = opened!;
  expect([name, temporary]).toEqual(['openSync', expect.stringContaining(join(folder, '.tmp-'))]);
  expect(wrote!.slice(0, 2)).toEqual(['writeSync', fd]);
  expect(flushed!.slice(0, 2)).toEqual(['fsyncSync', fd]);
  expect(closed!.slice(0, 2)).toEqual(['closeSync', fd]);
  expect(renamed!.slice(0, 3)).toEqual(['renameSync', temporary, path]);
  expect(folderCalls.map(([name]) => name)).toEqual(['openSync', 'fsyncSync', 'closeSync']);
  expect(folderCalls[0]![1]).toBe(folder);
  expect(fs.readFileSync(path, 'utf8')).toBe('content');
});
