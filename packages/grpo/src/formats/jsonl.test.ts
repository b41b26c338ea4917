import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FormatError } from '../errors/format-error.js';
import { readJsonLines } from './jsonl.js';
import { tempFolder } from './temp-folder.test.helper.js';

function file(content: string | Uint8Array): string {
  const path = join(tempFolder(), 'rows.jsonl');
  writeFileSync(path, content);
  return path;
}

async function all(path: string) {
  const rows = [];
  for await (const row of readJsonLines(path)) rows.push(row);
  return rows;
}

const bytes = (...parts: (string | number)[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.of(part))));

describe('readJsonLines', () => {
  it('numbers lines from 1, skips blank ones, takes CRLF and a last line without newline', async () => {
    expect(await all(file('{"a":1}\r\n\n  \t\n[2]\n"é"'))).toEqual([
      { line: 1, value: { a: 1 } },
      { line: 4, value: [2] },
      { line: 5, value: 'é' },
    ]);
  });

  it('accepts a byte order mark at the start only', async () => {
    expect(await all(file('\uFEFF{"a":1}\n'))).toEqual([{ line: 1, value: { a: 1 } }]);
    await expect(all(file('1\n\uFEFF2\n'))).rejects.toThrow(/rows\.jsonl:2: not valid JSON/);
  });

  it('reads back any rows, also across the borders of the chunks it reads', async () => {
    const path = join(tempFolder(), 'rows.jsonl');
    const row = fc.oneof(
      fc.jsonValue(),
      fc.nat(300_000).map((n) => '名'.repeat(n)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 12 }), async (written) => {
        writeFileSync(path, written.map((value) => `${JSON.stringify(value)}\n`).join(''));
        const values = (await all(path)).map(({ value }) => value);
        expect(JSON.stringify(values)).toBe(JSON.stringify(written));
      }),
      { numRuns: 40 },
    );
  });

  it('names file and line of bad JSON and shows at most 80 characters of it', async () => {
    const path = file(`{"a":1}\n\n{"question": ${'x'.repeat(500)}\n`);
    const error = await all(path).catch((caught) => caught);
    expect(error).toBeInstanceOf(FormatError);
    expect(error).toMatchObject({ file: path, line: 3 });
    const shown = JSON.stringify(`{"question": ${'x'.repeat(80 - 13)}`);
    expect(error.message).toContain(`${path}:3: not valid JSON: ${shown}…`);
    expect(error.message).not.toContain('x'.repeat(81));
  });

  it('explains a JSON document spread over lines', async () => {
    await expect(all(file('[\n  {"a": 1}\n]\n'))).rejects.toThrow(
      /:1: .*each line must be a whole JSON value/,
    );
  });

  it('yields the good rows before it fails', async () => {
    const rows = readJsonLines(file('1\n{\n'));
    expect(await rows.next()).toEqual({ done: false, value: { line: 1, value: 1 } });
    await expect(rows.next()).rejects.toThrow(/:2: /);
  });

  it('refuses bad UTF-8 with its line', async () => {
    const path = file(bytes('{"a":1}\n{"b":"', 0xe9, '"}\n'));
    await expect(all(path)).rejects.toThrow(
      `${path}:2: the line is not valid UTF-8: byte 7 is 0xe9; save the file as UTF-8 text`,
    );
    await expect(all(file(Buffer.from('\uFEFF{"a":1}\n', 'utf16le')))).rejects.toThrow(
      /jsonl: this is UTF-16 text; save it as UTF-8/,
    );
  });

  it('refuses a line that no row would need', async () => {
    const path = file('{}\n');
    truncateSync(path, 257 * 2 ** 20);
    await expect(all(path)).rejects.toThrow(/:2: the line is longer than/);
  });

  it('says which file cannot be read', async () => {
    const folder = tempFolder();
    await expect(all(join(folder, 'none'))).rejects.toThrow(/none: there is no such file \(ENOENT\)/);
    await expect(all(folder)).rejects.toThrow(`${folder}: it is a folder, a file is expected`);
  });

  it('may be left early', async () => {
    for await (const { value } of readJsonLines(file('1\n{\n'))) {
      expect(value).toBe(1);
      break;
    }
  });
});
