import type * as fs from 'node:fs';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { JsonLinesWriter } from './jsonl-writer.js';
import { tempFolder } from './temp-folder.test.helper.js';

/** Bytes that still fit onto the disk. */
const disk = vi.hoisted(() => ({ room: Number.POSITIVE_INFINITY }));

vi.mock('node:fs', async (original) => {
  const real = await original<typeof fs>();
  const writeSync = (fd: number, data: Uint8Array, offset: number, length: number) => {
    if (disk.room === 0) throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', syscall: 'write' });
    const written = real.writeSync(fd, data, offset, Math.min(length, disk.room));
    disk.room -= written;
    return written;
  };
  return { ...real, writeSync };
});

const file = () => join(tempFolder(), 'rows.jsonl');
const text = (path: string) => readFileSync(path, 'utf8');

describe('JsonLinesWriter', () => {
  it('appends whole rows that are readable at once, over several sessions', () => {
    const path = file();
    const writer = new JsonLinesWriter(path);
    writer.append({ step: 1, text: 'two\nlines' });
    expect(text(path)).toBe('{"step":1,"text":"two\\nlines"}\n');
    writer.flush();
    writer.close();
    writer.close();
    {
      using second = new JsonLinesWriter(path);
      second.append({ step: 2 });
    }
    expect(text(path)).toBe('{"step":1,"text":"two\\nlines"}\n{"step":2}\n');
  });

  it('writes non-finite numbers as names, since null would hide them', () => {
    const path = file();
    using writer = new JsonLinesWriter(path);
    writer.append({ loss: Number.NaN, norms: [1, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY] });
    expect(text(path)).toBe('{"loss":"NaN","norms":[1,"Infinity","-Infinity"]}\n');
  });

  it.each([
    ['a typed array', { ids: new Int32Array(2) }, /"ids" is a Int32Array/],
    ['a map', { counts: new Map() }, /"counts" is a Map/],
    ['a bigint', { seed: 1n }, /BigInt/],
  ])('refuses %s and writes nothing', (_, row, message) => {
    const path = file();
    using writer = new JsonLinesWriter(path);
    expect(() => writer.append(row)).toThrow(message);
    expect(() => writer.append(row)).toThrow(path);
    expect(text(path)).toBe('');
  });

  it.each([
    ['a short', 10],
    ['a long', 500_000],
  ])('cuts off %s row that a killed writer left', (_, length) => {
    const path = file();
    const torn = `{"text":"${'é'.repeat(length)}`;
    writeFileSync(path, `{"step":1}\n${torn}`);
    using writer = new JsonLinesWriter(path);
    writer.append({ step: 2 });
    expect(text(path)).toBe('{"step":1}\n{"step":2}\n');
  });

  it('keeps a last row that only lacks its newline', () => {
    const path = file();
    writeFileSync(path, '{"step":1}');
    using writer = new JsonLinesWriter(path);
    writer.append({ step: 2 });
    expect(text(path)).toBe('{"step":1}\n{"step":2}\n');
  });

  it('takes back what of a row still fits onto a disk that fills up', () => {
    const path = file();
    using writer = new JsonLinesWriter(path);
    writer.append({ step: 1 });
    disk.room = 5;
    expect(() => writer.append({ step: 2 })).toThrow(/the disk is full.*\(ENOSPC\)/);
    expect(text(path)).toBe('{"step":1}\n');
    disk.room = Number.POSITIVE_INFINITY;
    writer.append({ step: 2 });
    expect(text(path)).toBe('{"step":1}\n{"step":2}\n');
  });

  it('refuses a row after close', () => {
    const writer = new JsonLinesWriter(file());
    writer.close();
    expect(() => writer.append({})).toThrow(/is closed/);
  });

  it.runIf(existsSync('/dev/full'))('says that the disk is full', () => {
    const writer = new JsonLinesWriter('/dev/full');
    expect(() => writer.append({ step: 1 })).toThrow(
      /cannot write \/dev\/full: the disk is full.*\(ENOSPC\)/,
    );
  });
});
