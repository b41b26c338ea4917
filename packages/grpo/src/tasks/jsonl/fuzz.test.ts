import { spawnSync } from 'node:child_process';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { UserError } from '../../errors/user-error.js';
import {
  Dice,
  mutateBytes,
  mutateJson,
  replaceFile,
  requireUserError,
} from '../../formats/mutate.test.helper.js';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { type JsonlOptions, jsonlTask } from './task.js';

const COUNT = Number(process.env.GRPO_FUZZ ?? 2000);

const load = (data: string, options: Partial<JsonlOptions> = {}) =>
  jsonlTask({
    data,
    evalSize: 1,
    grading: 'numeric',
    questionKey: 'question',
    answerKey: 'answer',
    ...options,
  });

const ROWS = [
  { question: '1+1?', answer: 2 },
  { question: 'Wie viel ist 2×3? 🧮', answer: '2×3 = <<2*3=6>>6\n#### 6', level: [1, { a: null }] },
  { question: 'Twice: "x\\y"\t?', answer: '-1,200.5' },
  { question: 'Last', answer: '7' },
];
const lines = (rows: readonly unknown[]) => `${Array.from(rows, (row) => JSON.stringify(row)).join('\n')}\n`;

describe('a dataset', () => {
  it(`${COUNT} times damaged, is refused in words or read`, async () => {
    const path = join(tempFolder(), 'train.jsonl');
    const outcomes = { refused: 0, loaded: 0 };
    for (let seed = 0; seed < COUNT; seed++) {
      const dice = new Dice(seed);
      const rows = mutateJson(dice, ROWS);
      const content = lines(Array.isArray(rows) ? rows : [rows]);
      replaceFile(path, dice.below(2) > 0 ? content : mutateBytes(dice, Buffer.from(lines(ROWS))));
      try {
        const task = await load(path, { grading: seed % 3 === 0 ? 'none' : 'numeric' });
        for (const { prompt, row } of [...task.train, ...task.eval]) {
          expect(prompt).toContain(String(row.question));
          structuredClone(row);
        }
        outcomes.loaded++;
      } catch (error) {
        requireUserError(error, seed);
        expect((error as Error).message).toContain(path);
        outcomes.refused++;
      }
    }
    expect(outcomes.refused).toBeGreaterThan(COUNT / 10);
    expect(outcomes.loaded).toBeGreaterThan(COUNT / 100);
  });

  const refused: [name: string, content: string | Uint8Array, message: RegExp][] = [
    ['NUL bytes', '{"question":"a","answer":"1\0"}\n', /:1: not valid JSON/],
    ['nothing but NUL bytes', new Uint8Array(5000), /:1: not valid JSON: "\\u0000/],
    [
      'bad UTF-8',
      Buffer.from('{"question":"a","answer":1}\n{"question":"\xe9"}\n', 'latin1'),
      /:2: .* byte 14 is 0xe9/,
    ],
    ['a key twice', '{"question":"a","answer":1,"answer":2}\n', /:1: the row names "answer" twice/],
    [
      'a deep row',
      `{"question":"a","x":${'['.repeat(1e5)}${']'.repeat(1e5)}}\n`,
      /:1: the row is nested more than 100 deep/,
    ],
    [
      'a deep question',
      `{"question":[[[[1]]]],"answer":1}\n`,
      /:1: question must be text or a number, found a nested array/,
    ],
    ['gzip', gzipSync(lines(ROWS)), /: this is a gzip file; unpack it first \(gunzip\)/],
    ['a zip archive', Buffer.from('PK\x03\x04\n\n'), /:1: this is a zip archive/],
    ['Parquet', Buffer.from('PAR1\x15\x04\n'), /: not a readable Parquet file: /],
  ];
  it.each(refused)('of %s is refused with its line', async (_, content, message) => {
    const path = join(tempFolder(), 'train.jsonl');
    writeFileSync(path, content);
    await expect(load(path)).rejects.toThrow(UserError);
    await expect(load(path)).rejects.toThrow(message);
  });

  it('may have a byte order mark, CRLF, blank lines and no last newline', async () => {
    const path = join(tempFolder(), 'train.jsonl');
    writeFileSync(path, `\uFEFF\r\n${lines(ROWS).trimEnd().replaceAll('\n', '\r\n\r\n')}`);
    expect((await load(path, { evalSize: 0 })).train.map(({ row }) => row)).toEqual(ROWS);
  });

  it('with a line of 100 MB is refused with the line, after reading less than that', async () => {
    const path = join(tempFolder(), 'train.jsonl');
    writeFileSync(path, lines(ROWS));
    truncateSync(path, 100 * 2 ** 20);
    await expect(load(path)).rejects.toThrow(/:5: the line is longer than 67 MB, so this is not JSON Lines/);
  });

  it.skipIf(process.platform === 'win32')(
    'that is a pipe, a device or larger than memory, is not waited for',
    async () => {
      const folder = tempFolder();
      const pipe = join(folder, 'pipe');
      expect(spawnSync('mkfifo', [pipe]).status).toBe(0);
      await expect(load(pipe)).rejects.toThrow(
        /pipe: it is a pipe, not a file; write the content to a file first/,
      );
      await expect(load('/dev/zero')).rejects.toThrow(/it is a device, not a file/);
      await expect(load(folder)).rejects.toThrow(/it is a folder/);
      const huge = join(folder, 'huge.jsonl');
      writeFileSync(huge, '');
      truncateSync(huge, 2 ** 40);
      await expect(load(huge)).rejects.toThrow(
        /1\.1 TB of rows do not fit into the .* of memory that Node allows/,
      );
    },
  );
});
