import { execFileSync } from 'node:child_process';
import { closeSync, openSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FileError } from '../errors/file-error.js';
import { fingerprint } from './fingerprint.js';
import { tempFolder } from './temp-folder.test.helper.js';

const MIB = 2 ** 20;

describe('the fingerprint of a file', () => {
  it.each([
    // FIPS 180-4's own example, and the hash of nothing.
    ['abc', '3 bytes, sha256 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
    ['', '0 bytes, sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
  ])('is its size and SHA-256: %j', (text, expected) => {
    const path = join(tempFolder(), 'file');
    writeFileSync(path, text);
    expect(fingerprint(path)).toBe(expected);
    expect(fingerprint(path, { sample: true })).toBe(expected);
  });

  it.runIf(process.platform === 'linux')('is of the whole file, over many blocks', () => {
    const path = join(tempFolder(), 'file');
    writeFileSync(path, Buffer.alloc(3 * MIB + 17, 'grpo'));
    const [sum] = execFileSync('sha256sum', [path], { encoding: 'utf8' }).split(' ');
    expect(fingerprint(path)).toBe(`${3 * MIB + 17} bytes, sha256 ${sum}`);
  });

  it('of a large file is by default all of it, as a sample its ends and its size too', () => {
    const path = join(tempFolder(), 'file');
    writeFileSync(path, '');
    // Sparse: it takes no room on the disk.
    truncateSync(path, 200 * MIB + 5);
    const put = (at: number, byte: number) => {
      const fd = openSync(path, 'r+');
      writeSync(fd, Uint8Array.of(byte), 0, 1, at);
      closeSync(fd);
    };
    const sampled = () => fingerprint(path, { sample: true });
    const plain = sampled();
    expect(plain).toContain(' of a sample ');
    for (const at of [0, 200 * MIB + 4]) {
      put(at, 1);
      expect(sampled()).not.toBe(plain);
      put(at, 0);
      expect(sampled()).toBe(plain);
    }
    const whole = fingerprint(path);
    put(2 * MIB, 1);
    expect(sampled()).toBe(plain);
    expect(fingerprint(path)).not.toBe(whole);
    truncateSync(path, 200 * MIB + 6);
    expect(sampled()).not.toBe(plain);
  });

  it('says which file is not there', () => {
    expect(() => fingerprint('/nowhere/at/all')).toThrow(FileError);
  });
});
