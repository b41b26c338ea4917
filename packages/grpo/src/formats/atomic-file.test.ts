import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FileError, fileError } from '../errors/file-error.js';
import { writeAtomic, writeFileAtomic } from './atomic-file.js';
import { tempFolder } from './temp-folder.test.helper.js';

function caught(body: () => void): unknown {
  try {
    body();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

describe('writeFileAtomic', () => {
  it('writes text and bytes, replaces what was there, and leaves no other file', () => {
    const folder = tempFolder();
    const path = join(folder, 'a');
    writeFileAtomic(path, 'é\n');
    expect([...readFileSync(path)]).toEqual([0xc3, 0xa9, 0x0a]);
    writeFileAtomic(path, new Uint8Array([1, 2, 3]).subarray(1));
    expect([...readFileSync(path)]).toEqual([2, 3]);
    expect(readdirSync(folder)).toEqual(['a']);
  });

  it('takes a name as long as names may be', () => {
    const folder = tempFolder();
    writeFileAtomic(join(folder, 'n'.repeat(255)), 'x');
    expect(readdirSync(folder)).toEqual(['n'.repeat(255)]);
  });

  it('says what to do when the folder is missing', () => {
    const path = join(tempFolder(), 'none', 'a');
    const error = caught(() => writeFileAtomic(path, 'x'));
    expect(error).toBeInstanceOf(FileError);
    expect(String(error)).toContain(
      `cannot write ${path}: its folder does not exist; create it first (ENOENT)`,
    );
  });

  it('removes the temporary file when the rename fails', () => {
    const folder = tempFolder();
    mkdirSync(join(folder, 'a'));
    expect(() => writeFileAtomic(join(folder, 'a'), 'x')).toThrow(/a: it is a folder.*\(EISDIR\)/);
    expect(readdirSync(folder)).toEqual(['a']);
  });

  // Permissions do not bind root.
  it.skipIf(process.getuid?.() === 0)('says so when the folder may not be written', () => {
    const folder = tempFolder();
    chmodSync(folder, 0o500);
    expect(() => writeFileAtomic(join(folder, 'a'), 'x')).toThrow(/permission denied.*\(EACCES\)/);
  });
});

describe('writeAtomic', () => {
  it('streams, and shows nothing under the name until the end', () => {
    const path = join(tempFolder(), 'a');
    writeFileSync(path, 'old');
    writeAtomic(path, (write) => {
      write('new ');
      write(Buffer.from('file'));
      expect(readFileSync(path, 'utf8')).toBe('old');
    });
    expect(readFileSync(path, 'utf8')).toBe('new file');
  });

  it('keeps the old file, drops the temporary one and passes the error on when the body throws', () => {
    const folder = tempFolder();
    const path = join(folder, 'a');
    writeFileSync(path, 'old');
    const mine = new Error('mine');
    const error = caught(() =>
      writeAtomic(path, (write) => {
        write('half');
        throw mine;
      }),
    );
    expect(error).toBe(mine);
    expect(readFileSync(path, 'utf8')).toBe('old');
    expect(readdirSync(folder)).toEqual(['a']);
  });
});

describe('fileError', () => {
  const raised = (code: string) =>
    Object.assign(new Error(`${code}: text, write`), { code, syscall: 'write' });

  it.each([
    ['ENOSPC', 'the disk is full'],
    ['EACCES', 'permission denied'],
    ['EROFS', 'read-only'],
    ['EIO', 'EIO: text, write'],
  ])('%s names file and remedy', (code, words) => {
    const error = fileError('write', '/run/m.jsonl', raised(code));
    expect(error).toMatchObject({ name: 'FileError', code, path: '/run/m.jsonl', cause: { code } });
    expect(String(error)).toContain('cannot write /run/m.jsonl: ');
    expect(String(error)).toContain(words);
  });

  it('leaves errors alone that the system did not raise', () => {
    const bug = new TypeError('bug');
    expect(fileError('read', '/a', bug)).toBe(bug);
    const first = fileError('read', '/a', raised('EIO'));
    expect(fileError('write', '/b', first)).toBe(first);
  });
});
