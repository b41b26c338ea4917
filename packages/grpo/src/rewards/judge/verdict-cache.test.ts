import { spawn } from 'node:child_process';
import { appendFileSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FormatError } from '../../errors/format-error.js';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { cacheKey, VerdictCache } from './verdict-cache.js';

const files = (folder: string) => readdirSync(folder).map((name) => join(folder, name));

/** Writes to a cache, and prints the number of every 50th entry, until it is killed. */
const WRITER = `
  const { VerdictCache } = await import(process.argv[1]);
  const cache = await VerdictCache.open(process.argv[2]);
  for (let i = 0; ; i++) {
    cache.add('key ' + i, 'x'.repeat(i % 5000));
    if (i % 50 === 0) process.stdout.write(i + '\\n');
  }`;

describe('the cache', () => {
  it('is there for those who open it later', async () => {
    const folder = join(tempFolder(), 'some', 'cache');
    {
      using cache = await VerdictCache.open(folder);
      expect(readdirSync(folder)).toEqual([]);
      cache.add('a', '{"score": 1}');
      cache.add('b', 'ü\n"');
      cache.add('a', '{"score": 0}');
      cache.flush();
      expect(cache.get('a')).toBe('{"score": 0}');
    }
    using again = await VerdictCache.open(folder);
    expect([again.get('a'), again.get('b'), again.get('c')]).toEqual(['{"score": 0}', 'ü\n"', undefined]);
  });

  it('has whatever was in it when its process was killed', async () => {
    const folder = tempFolder();
    const child = spawn(process.execPath, [
      '--input-type=module',
      '-e',
      WRITER,
      new URL('./verdict-cache.js', import.meta.url).href,
      folder,
    ]);
    let told = '';
    await new Promise<void>((resolve, reject) => {
      child.stdout.on('data', (part) => {
        told += part;
        if (told.split('\n').length > 8) resolve();
      });
      child.on('error', reject);
      child.on('exit', (code) => reject(new Error(`the writer ended with ${code}`)));
    });
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGKILL');
    await ended;
    const last = Number(told.trim().split('\n').at(-1));
    using cache = await VerdictCache.open(folder);
    for (let i = 0; i <= last; i++) expect(cache.get(`key ${i}`)).toBe('x'.repeat(i % 5000));
  });

  it('reads a file that is cut off anywhere, up to its last whole row', async () => {
    const folder = tempFolder();
    {
      using cache = await VerdictCache.open(folder);
      for (const name of ['a', 'b', 'c']) cache.add(name, `reply of ${name} 😀`);
    }
    const [file] = files(folder) as [string];
    const whole = readFileSync(file);
    const ends = [...whole.keys()].filter((i) => whole[i] === 0x0a).map((i) => i + 1);
    for (let size = whole.length; size >= 0; size--) {
      truncateSync(file, size);
      using cache = await VerdictCache.open(folder);
      const known = ['a', 'b', 'c'].filter((name) => cache.get(name) === `reply of ${name} 😀`);
      expect(known.length, `${size} bytes`).toBe(ends.filter((end) => end <= size).length);
    }
    // After a power cut the file system may have room for a row, and no content.
    writeFileSync(file, Buffer.concat([whole, Buffer.alloc(100)]));
    using cache = await VerdictCache.open(folder);
    expect(cache.get('c')).toBe('reply of c 😀');
  });

  it('is written by two at the same time, each into a file of its own', async () => {
    const folder = tempFolder();
    {
      using one = await VerdictCache.open(folder);
      using other = await VerdictCache.open(folder);
      for (let i = 0; i < 100; i++) (i % 2 ? one : other).add(`${i}`, `reply ${i}`);
    }
    expect(files(folder)).toHaveLength(2);
    using both = await VerdictCache.open(folder);
    for (let i = 0; i < 100; i++) expect(both.get(`${i}`)).toBe(`reply ${i}`);
  });

  it('names a file that is another one', async () => {
    const folder = tempFolder();
    appendFileSync(join(folder, 'other.jsonl'), '{"key": "a", "reply": "b"}\n{"question": "why"}\n');
    await expect(VerdictCache.open(folder)).rejects.toThrow(FormatError);
    await expect(VerdictCache.open(folder)).rejects.toThrow(
      "other.jsonl:2: this is not a row of a judge's cache",
    );
  });

  it('forgets the oldest when its memory is full', async () => {
    using cache = await VerdictCache.open(tempFolder(), 1000);
    for (let i = 0; i < 20; i++) cache.add(`${i}`, 'x'.repeat(98));
    expect([9, 10, 19].map((i) => cache.get(`${i}`)?.length)).toEqual([undefined, 98, 98]);
  });
});

describe('cacheKey', () => {
  it('is another one for other parts, however they are divided', () => {
    expect(cacheKey(['a', 'b'])).toMatch(/^[0-9a-f]{64}$/);
    expect(new Set([['a', 'b'], ['ab'], ['a', 'b', ''], ['b', 'a']].map(cacheKey)).size).toBe(4);
  });
});
