import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FormatError } from '../../errors/format-error.js';
import { tempFolder } from '../temp-folder.test.helper.js';
import { DTYPE_BYTES, type SafetensorsDtype } from './dtype.js';
import { SafetensorsFile } from './file.js';
import { fixture } from './fixture.test.helper.js';
import { sumOf } from './sums.js';
import { type TensorEntry, writeSafetensors } from './writer.js';

const bytesEntry = (name: string, bytes: number[]): TensorEntry => ({
  name,
  dtype: 'U8',
  shape: [bytes.length],
  data: () => Uint8Array.from(bytes),
});

const dtypes = Object.keys(DTYPE_BYTES) as SafetensorsDtype[];
// Whole characters only: half a surrogate pair is refused, as its own test shows.
const text = fc.string({ unit: 'binary' });
const name = fc
  .oneof(text, fc.constantFrom('0', '10', '__proto__', 'constructor', 'é"\\\n'))
  .filter((n) => n !== '__metadata__');
const tensor = fc
  .record({ name, dtype: fc.constantFrom(...dtypes), shape: fc.array(fc.nat(4), { maxLength: 4 }) })
  .chain(({ name, dtype, shape }) => {
    const length = shape.reduce((product, size) => product * size, DTYPE_BYTES[dtype]);
    const bytes = fc.uint8Array({ minLength: length, maxLength: length });
    return bytes.map((data) => ({ name, dtype, shape, data: () => data }));
  });

describe('writeSafetensors', () => {
  it('writes the very bytes that Python writes, given the same order', () => {
    using source = SafetensorsFile.open(fixture('dtypes.safetensors'));
    const path = join(tempFolder(), 'again.safetensors');
    const entries = [...source.tensors].map(([name, { dtype, shape }]) => ({
      name,
      dtype,
      shape,
      data: () => source.read(name),
    }));
    writeSafetensors(path, entries, source.metadata);
    expect(readFileSync(path).equals(readFileSync(source.path))).toBe(true);
  });

  it('round-trips any tensors, in the given order, with data aligned to 8 bytes', () => {
    const path = join(tempFolder(), 'any.safetensors');
    const tensors = fc.uniqueArray(tensor, { selector: ({ name }) => name, maxLength: 8 });
    fc.assert(
      fc.property(tensors, fc.dictionary(text, text), (entries, metadata) => {
        writeSafetensors(path, entries, metadata);
        using file = SafetensorsFile.open(path);
        const written = entries.map(({ name, dtype, shape, data }) => [name, dtype, shape, [...data()]]);
        const read = [...file.tensors].map(([name, { dtype, shape }]) => [
          name,
          dtype,
          shape,
          [...file.read(name)],
        ]);
        const full = (rows: typeof read) => rows.filter(([, , , bytes]) => bytes?.length);
        expect(full(read)).toEqual(full(written));
        // Empty tensors share their offset, so only their names and shapes can come back, not their order.
        expect(new Set(read)).toEqual(new Set(written));
        expect(Object.entries(file.metadata)).toEqual(Object.entries(metadata));
        expect(readFileSync(path).readBigUInt64LE(0) % 8n).toBe(0n);
      }),
    );
  });

  it('holds one tensor at a time', () => {
    const calls: string[] = [];
    function* entries() {
      for (const name of ['a', 'b']) {
        calls.push(`entry ${name}`);
        const data = () => {
          calls.push(`data ${name}`);
          return Uint8Array.of(1);
        };
        yield { ...bytesEntry(name, [1]), data };
      }
    }
    writeSafetensors(join(tempFolder(), 'm'), entries());
    expect(calls).toEqual(['entry a', 'entry b', 'data a', 'data b']);
  });

  it.each([
    ['a name twice', [bytesEntry('w', [1]), bytesEntry('w', [2])], '"w": the name is given twice'],
    ['the reserved name', [bytesEntry('__metadata__', [1])], '"__metadata__": the name is reserved'],
    [
      'too few bytes',
      [{ ...bytesEntry('w', [1, 2]), shape: [3] }],
      '"w": its dtype and shape take 3 bytes, data() gave 2',
    ],
    ['a shape that is none', [{ ...bytesEntry('w', []), shape: [-1] }], '"w": [-1] is no shape'],
    [
      'an unknown dtype',
      [{ ...bytesEntry('w', []), dtype: 'float32' as SafetensorsDtype }],
      'unknown dtype float32',
    ],
    ['half a surrogate pair', [bytesEntry('\ud83d', [1])], 'half a surrogate pair'],
  ])('refuses %s, and leaves the old file and no other', (_, entries, message) => {
    const folder = tempFolder();
    const path = join(folder, 'm');
    writeFileSync(path, 'old');
    expect(() => writeSafetensors(path, entries)).toThrow(FormatError);
    expect(() => writeSafetensors(path, entries)).toThrow(message);
    expect(readFileSync(path, 'utf8')).toBe('old');
    expect(readdirSync(folder)).toEqual(['m']);
  });

  it('leaves nothing when a tensor cannot be produced', () => {
    const folder = tempFolder();
    const lost = {
      ...bytesEntry('w', [1]),
      data: () => {
        throw new Error('disposed');
      },
    };
    expect(() => writeSafetensors(join(folder, 'm'), [bytesEntry('v', [1]), lost])).toThrow('disposed');
    expect(existsSync(join(folder, 'm'))).toBe(false);
    expect(readdirSync(folder)).toEqual([]);
  });
});

it('writes the parts of a tensor one after another, and refuses one too many', () => {
  const path = join(tempFolder(), 'parts.safetensors');
  const inParts = (...parts: number[][]): TensorEntry => ({
    ...bytesEntry('w', [1, 2, 3]),
    data: () => parts.map((part) => Uint8Array.from(part)),
  });
  writeSafetensors(path, [inParts([1, 2], [], [3])], {}, { sums: true });
  using file = SafetensorsFile.open(path);
  expect(file.read('w')).toEqual(Uint8Array.of(1, 2, 3));
  // The CRC-32 of 01 02 03, by Python's zlib.
  expect(sumOf(file.parts('w'))).toBe('55bc801d');
  expect(() => writeSafetensors(path, [inParts([1, 2], [3, 4])])).toThrow('take 3 bytes, data() gave 4');
});

describe('sums of tensors', () => {
  const written = () => {
    const path = join(tempFolder(), 'summed.safetensors');
    const entries = [bytesEntry('none', []), bytesEntry('a', [1, 2, 3]), bytesEntry('b', [4, 5])];
    writeSafetensors(path, entries, { format: 'pt' }, { sums: true });
    return path;
  };

  it('are no part of the metadata, and hold for what was written', () => {
    using file = SafetensorsFile.open(written());
    expect(file.metadata).toEqual({ format: 'pt' });
    expect(file.read('a')).toEqual(Uint8Array.of(1, 2, 3));
    expect(file.read('none')).toHaveLength(0);
    // The CRC-32 of 01 02 03, by Python's zlib.
    expect(readFileSync(file.path, 'latin1')).toContain('"crc32":"0000000055bc801d');
  });

  it('show which tensor is damaged', () => {
    const path = written();
    const bytes = readFileSync(path);
    bytes[bytes.length - 1]! ^= 1;
    writeFileSync(path, bytes);
    using file = SafetensorsFile.open(path);
    expect(file.read('a')).toEqual(Uint8Array.of(1, 2, 3));
    expect(() => file.read('b')).toThrow(/"b": its bytes have the CRC-32 \w{8}, .* the file is damaged/);
  });
});
