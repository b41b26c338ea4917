import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FileError } from '../errors/file-error.js';
import { FormatError } from '../errors/format-error.js';
import { type GgufTensor, type GgufValue, writeGguf } from './gguf-writer.js';
import { readGguf } from './read-gguf.test.helper.js';
import { tempFolder } from './temp-folder.test.helper.js';

const bytes = (...values: number[]) => Uint8Array.from(values);

describe('writeGguf', () => {
  it('writes every kind of value and every element type as the format has them', () => {
    const metadata = new Map<string, GgufValue>([
      ['a', ['uint32', 2 ** 32 - 1]],
      ['b', ['float32', 0.1]],
      ['c', ['bool', true]],
      ['d', ['bool', false]],
      ['e', ['string', 'Größe \u{1f600}']],
      ['f', ['int32[]', [1, -2]]],
      ['g', ['float32[]', [0.5]]],
      ['h', ['string[]', ['', 'ö']]],
      ['i', ['string[]', []]],
    ]);
    const tensor = (
      name: string,
      type: GgufTensor['type'],
      shape: number[],
      data: Uint8Array,
    ): GgufTensor => ({
      name,
      type,
      shape,
      data: () => data,
    });
    const path = join(tempFolder(), 'model.gguf');
    const size = writeGguf(path, metadata, [
      tensor('half', 'F16', [1, 3], bytes(1, 2, 3, 4, 5, 6)),
      tensor('block', 'Q8_0', [2, 32], new Uint8Array(68).fill(7)),
      tensor('one', 'F32', [1], bytes(9, 9, 9, 9)),
      tensor('brain', 'BF16', [2, 1], bytes(4, 3, 2, 1)),
    ]);
    expect(statSync(path).size).toBe(size);
    const read = readGguf(path);
    expect(read.metadata).toEqual({
      ...{ a: 4294967295, b: Math.fround(0.1), c: true, d: false },
      ...{ e: 'Größe \u{1f600}', f: [1, -2], g: [0.5], h: ['', 'ö'], i: [] },
    });
    expect(
      [...read.tensors].map(([name, { type, sizes, bytes }]) => [name, type, sizes, bytes.toString('hex')]),
    ).toEqual([
      ['half', 1, [3, 1], '010203040506'],
      ['block', 8, [32, 2], '07'.repeat(68)],
      ['one', 0, [1], '09090909'],
      ['brain', 30, [1, 2], '04030201'],
    ]);
  });

  it('writes the tokens of a large vocabulary', () => {
    const tokens = Array.from({ length: 300_000 }, (_, id) => `token ${id}`);
    const path = join(tempFolder(), 'model.gguf');
    writeGguf(path, new Map([['tokens', ['string[]', tokens]]]), []);
    expect(readGguf(path).metadata.tokens).toEqual(tokens);
  });

  it('leaves no file where a tensor has another size than its shape', () => {
    const folder = tempFolder();
    const path = join(folder, 'model.gguf');
    const short: GgufTensor = { name: 'short', type: 'F32', shape: [2], data: () => bytes(1) };
    const write = () => writeGguf(path, new Map(), [short]);
    expect(write).toThrow(FormatError);
    expect(write).toThrow(/cannot write tensor "short": its type and shape take 8 bytes, data\(\) gave 1/);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('refuses what the disk has no room for before a tensor is asked for', () => {
    const path = join(tempFolder(), 'model.gguf');
    const data = () => {
      throw new Error('asked');
    };
    const write = () => writeGguf(path, new Map(), [{ name: 'large', type: 'F16', shape: [1e8, 1e7], data }]);
    expect(write).toThrow(FileError);
    expect(write).toThrow(/the disk is full.*2\.0 PB are needed and .* are free/);
    expect(existsSync(path)).toBe(false);
  });
});
