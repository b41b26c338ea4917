import { existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeFolder } from './make-folder.js';
import { tempFolder } from './temp-folder.test.helper.js';

describe('makeFolder', () => {
  it('makes those above it too, and leaves what is there', () => {
    const path = join(tempFolder(), 'a/b/c');
    makeFolder(path);
    writeFileSync(join(path, 'mine'), '');
    makeFolder(path);
    expect(existsSync(join(path, 'mine'))).toBe(true);
    symlinkSync(path, join(path, 'link'));
    makeFolder(join(path, 'link'));
  });

  it('says what is in the way', () => {
    const folder = tempFolder();
    writeFileSync(join(folder, 'file'), '');
    expect(() => makeFolder(join(folder, 'file'))).toThrow(/file: there is a file of that name.*\(EEXIST\)/);
    expect(() => makeFolder(join(folder, 'file/x'))).toThrow(/x: a part of the path is a file.*\(ENOTDIR\)/);
  });

  it.runIf(existsSync('/proc/self'))('gives up where no folder can be made', () => {
    expect(() => makeFolder('/proc/none/such')).toThrow(/cannot write \/proc\/none\/such: .*\(ENOENT\)/);
  });
});
