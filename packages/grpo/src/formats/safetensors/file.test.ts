import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FormatError } from '../../errors/format-error.js';
import { tempFolder } from '../temp-folder.test.helper.js';
import { DTYPE_BYTES } from './dtype.js';
import { SafetensorsFile } from './file.js';
import { expectedTensors, fixture } from './fixture.test.helper.js';

const python = fixture('dtypes.safetensors');

function damaged(change: (bytes: Buffer) => Uint8Array): string {
  const path = join(tempFolder(), 'model.safetensors');
  writeFileSync(path, change(readFileSync(python)));
  return path;
}

const withLength = (length: bigint) => (bytes: Buffer) => {
  bytes.writeBigUInt64LE(length, 0);
  return bytes;
};

describe('SafetensorsFile', () => {
  it('reads every dtype, a scalar and an empty tensor as Python does', () => {
    using file = SafetensorsFile.open(python);
    const read = [...file.tensors].map(([name, { dtype, shape }]) => [
      name,
      { dtype, shape, hex: Buffer.from(file.read(name)).toString('hex') },
    ]);
    expect(Object.fromEntries(read)).toEqual(expectedTensors);
    expect(new Set([...file.tensors.values()].map(({ dtype }) => dtype))).toEqual(
      new Set(Object.keys(DTYPE_BYTES)),
    );
    expect(file.metadata).toEqual({ format: 'pt' });
  });

  it('reads into the memory it is given, and nowhere else', () => {
    using file = SafetensorsFile.open(python);
    const memory = new Uint8Array(32).fill(0xaa);
    file.readInto('matrix.F32', memory.subarray(4, 28));
    const hex = Buffer.from(memory).toString('hex');
    expect(hex).toBe(`aaaaaaaa${expectedTensors['matrix.F32']?.hex}aaaaaaaa`);
    const floats = new Float32Array(6);
    file.readInto('matrix.F32', new Uint8Array(floats.buffer));
    expect(floats[4]).toBe(Math.fround(-100 / 3));
  });

  it('refuses a target of another size, an unknown name, and reading after close', () => {
    const file = SafetensorsFile.open(python);
    expect(() => file.readInto('scalar', new Uint8Array(5))).toThrow(/"scalar" has 4 bytes, the target 5/);
    expect(() => file.read('scalars')).toThrow(/no tensor "scalars"; the file has "/);
    file.close();
    file.close();
    expect(() => file.read('scalar')).toThrow(/is closed/);
  });

  it.each([
    ['an empty file', () => new Uint8Array(0), 'the file is empty'],
    ['a few bytes', (bytes: Buffer) => bytes.subarray(0, 7), '7 bytes are too few'],
    ['a cut header', (bytes: Buffer) => bytes.subarray(0, 100), 'but only 92 follow; the file is cut short'],
    ['cut data', (bytes: Buffer) => bytes.subarray(0, -1), 'the file is cut short'],
    [
      'more data',
      (bytes: Buffer) => Buffer.concat([bytes, bytes]),
      'after the last tensor belong to no tensor',
    ],
    ['a header over 100 MB', withLength(100_000_001n), 'announce a header of 100000001 bytes'],
    ['the largest length', withLength(2n ** 64n - 1n), 'announce a header of 18446744073709551615 bytes'],
    ['an empty header', withLength(0n), 'the header does not begin with "{"'],
    [
      'another kind of file',
      () => Buffer.from('PK\x03\x04 some archive'),
      'this is a zip archive, not a safetensors file',
    ],
    ['a Git LFS pointer', () => Buffer.from('version https://git-lfs.github.com/spec/v1\n'), 'git lfs pull'],
  ])('refuses %s', (_, change, message) => {
    const path = damaged(change);
    expect(() => SafetensorsFile.open(path)).toThrow(FormatError);
    expect(() => SafetensorsFile.open(path)).toThrow(`${path}: `);
    expect(() => SafetensorsFile.open(path)).toThrow(message);
  });

  it('notices that the file shrinks while it is open', () => {
    const path = damaged((bytes) => bytes);
    using file = SafetensorsFile.open(path);
    const last = [...file.tensors.keys()].at(-1) ?? '';
    truncateSync(path, readFileSync(path).length - 1);
    expect(() => file.read(last)).toThrow(/cut short after it was opened/);
  });

  it('says when there is no file, or a folder', () => {
    const folder = tempFolder();
    expect(() => SafetensorsFile.open(join(folder, 'none'))).toThrow(/there is no such file \(ENOENT\)/);
    expect(() => SafetensorsFile.open(folder)).toThrow(/it is a folder/);
  });
});
