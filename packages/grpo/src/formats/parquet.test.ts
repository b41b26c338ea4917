import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { EmptyFile } from '../errors/format-error.js';
import { Dice, mutateBytes, requireUserError } from './mutate.test.helper.js';
import { openParquet } from './parquet.js';
import { readRows, streamRows } from './read-rows.js';
import { tempFolder } from './temp-folder.test.helper.js';

const fixture = (name: string) =>
  fileURLToPath(new URL(`../../../../parity/fixtures/parquet/${name}.parquet`, import.meta.url));

describe('a Parquet file', () => {
  it('is read with the number of each row, over row groups', async () => {
    const rows = await readRows(fixture('sums'));
    expect(rows.map(({ line }) => line)).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
    expect(rows[30]!.value).toEqual({
      question: 'A shelf holds 8 books and 39 more are put on it. How many books is that?',
      answer: '8 books and 39 books are 8+39 = <<8+39=47>>47 books.\n#### 47',
    });
  });

  it('is streamed: the second group is not touched before its rows are asked for', async () => {
    using file = await openParquet(fixture('sums'));
    expect(file.groups.map(({ rows }) => rows)).toEqual([25, 15]);
    const bytes = readFileSync(fixture('sums'));
    // The second half of the data is that of the second group, before the footer.
    const footer = bytes.readUInt32LE(bytes.length - 8) + 8;
    bytes.fill(0xff, bytes.length - footer - 40, bytes.length - footer);
    const path = join(tempFolder(), 'cut.parquet');
    writeFileSync(path, bytes);
    const seen: number[] = [];
    const reading = (async () => {
      for await (const { line } of streamRows(path)) seen.push(line);
    })();
    await expect(reading).rejects.toThrow(
      /cut\.parquet: column "answer", in rows 26 to 40, cannot be read: /,
    );
    expect(seen).toHaveLength(25);
  });

  it('gives what JSON would have', async () => {
    const [first, second, third] = (await readRows(fixture('kinds'))).map(({ value }) => value);
    expect(first).toEqual({
      text: 'é',
      long: 1,
      short: 1,
      real: 0.5,
      yes: true,
      nums: [3, 5],
      inside: { a: 1, b: ['x'] },
      raw: 'plain',
      day: '2020-01-02T03:04:05.000Z',
    });
    expect(second).toMatchObject({
      text: null,
      long: -(2 ** 53) + 1,
      nums: [],
      inside: { a: null, b: [] },
      raw: null,
    });
    expect(third).toMatchObject({ text: '', long: null, nums: null, inside: null, raw: '', day: null });
    expect(JSON.parse(JSON.stringify(first))).toEqual(first);
  });

  it.each([
    [
      'bytes',
      /bytes\.parquet:2: column "image" holds bytes that are no UTF-8 text; write the file without that column/,
    ],
    [
      'large',
      /large\.parquet:2: column "id" holds 9007199254740992, too large a number to be exact; write it as text/,
    ],
    ['empty', /empty\.parquet: the file has no rows/],
  ])('%s is refused with row and column', async (name, message) => {
    await expect(readRows(fixture(name))).rejects.toThrow(message);
  });

  it('without rows has its own error', async () => {
    await expect(readRows(fixture('empty'))).rejects.toThrow(EmptyFile);
  });

  it('is told by its content, and by its name where the content is another', async () => {
    const folder = tempFolder();
    writeFileSync(join(folder, 'data'), readFileSync(fixture('sums')));
    expect(await readRows(join(folder, 'data'))).toHaveLength(40);
    const text = join(folder, 'train.parquet');
    writeFileSync(text, '{"question":"a"}\n');
    await expect(readRows(text)).rejects.toThrow(
      /train\.parquet: it is named \.parquet and is not a Parquet file; it begins "\{\\"question\\":\\"a/,
    );
  });

  it('1000 times damaged, is refused in words or read', async () => {
    const path = join(tempFolder(), 'damaged.parquet');
    const whole = readFileSync(fixture('kinds'));
    let refused = 0;
    for (let seed = 0; seed < 1000; seed++) {
      writeFileSync(path, mutateBytes(new Dice(seed), whole));
      try {
        await readRows(path);
      } catch (error) {
        requireUserError(error, seed);
        expect((error as Error).message).toContain(path);
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(300);
  });
});
