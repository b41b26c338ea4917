import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EmptyFile } from '../errors/format-error.js';
import { readRows } from './read-rows.js';
import { tempFolder } from './temp-folder.test.helper.js';

function file(content: string | Uint8Array, name = 'rows.jsonl'): string {
  const path = join(tempFolder(), name);
  writeFileSync(path, content);
  return path;
}

describe('readRows', () => {
  it('returns objects with their lines', async () => {
    expect(await readRows(file('\n{"a":1}\n{"b":2}'))).toEqual([
      { line: 2, value: { a: 1 } },
      { line: 3, value: { b: 2 } },
    ]);
  });

  it.each(['', '\n \n', '\uFEFF'])('has its own error for a file without rows: %j', async (content) => {
    await expect(readRows(file(content))).rejects.toThrow(EmptyFile);
  });

  it.each([
    ['[{"a":1}]', 'a nested array'],
    ['null', 'null'],
    ['"text"', '"text"'],
    ['3', '3'],
  ])('refuses the row %s', async (row, found) => {
    await expect(readRows(file(`{}\n${row}\n`))).rejects.toThrow(
      `:2: a row must be a JSON object such as {"key": "value"}, found ${found}`,
    );
  });
});

describe('a JSON array', () => {
  it.each([
    ['[{"a":1},{"a":[1,{"b":"],}\\""}]}]', [1, 1]],
    ['\uFEFF\n [\n {"a": 1},\n\n  {\n"a":\n [1, {"b": "],}\\""}] }\n]\n', [3, 5]],
  ])('is read with the line that each row begins in: %j', async (text, lines) => {
    const values = [{ a: 1 }, { a: [1, { b: '],}"' }] }];
    expect(await readRows(file(text, 'any.name'))).toEqual(
      values.map((value, i) => ({ line: lines[i], value })),
    );
  });

  it('is read in pieces, wherever they end', async () => {
    const values = Array.from({ length: 3000 }, (_, i) => ({ i, text: `"é[{,\\${'x'.repeat(i % 700)}` }));
    const rows = await readRows(file(JSON.stringify(values, null, 1)));
    expect(rows.map(({ value }) => value)).toEqual(values);
    expect(rows[1]!.line).toBe(6);
  });

  it.each([
    ['[]', 'the file has no rows'],
    ['[{"a":1}\n,3]', ':2: a row must be a JSON object such as {"key": "value"}, found 3'],
    ['[{"a":1},\n{"a":}]', ':2: not valid JSON: "{\\"a\\":}"'],
    ['[{"a":1,"a":2}]', ':1: the row names "a" twice'],
    ['[{"a":1},\n]', ':2: a comma has no row beside it'],
    ['[{"a":1},,{}]', ':1: a comma has no row beside it'],
    ['[{"a":1}\n{"b":2}]', ':1: not valid JSON'],
    ['[{"a":1}]\n[{"a":2}]', ':2: there is more after the ] that ends the array'],
    ['[{"a":1},\n{"a":', ':2: the array has no end: the file is cut off after 1 whole rows'],
    ['[{"a":"]}', ':1: the array has no end'],
  ])('is refused with the line: %s', async (text, message) => {
    await expect(readRows(file(text))).rejects.toThrow(message);
  });

  it('with a row of 100 MB is refused', async () => {
    const path = file('[{"a":1},\n"');
    truncateSync(path, 100 * 2 ** 20);
    await expect(readRows(path)).rejects.toThrow(/:2: a row is longer than 67 MB/);
  });
});
