import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { UserError } from '../../config/index.js';
import { folderOf } from '../../formats/temp-folder.test.helper.js';
import { lines, readText, steps } from './files.test.helper.js';
import { readRun } from './index.js';

describe('readRun', () => {
  it.each<[string, string | Uint8Array, RegExp]>([
    ['empty.log', '', /the file is empty/],
    ['notes.txt', 'hello\nworld\n', /none of its 2 lines has training metrics/],
    ['half.log', "{'loss': 0.1, 'gra\n", /1 line looks like a broken row, such as line 1/],
    ['core.bin', new Uint8Array(1000), /binary file/],
    ['log.gz', Uint8Array.of(0x1f, 0x8b, 8, 0), /the file is empty/],
    ['t.parquet', `PAR1${'x'.repeat(40)}PAR1`, /not a readable Parquet file/],
    ['step_1_logs.json', '[1]', /no step_N_logs.json could be read/],
    ['steps.csv', 'step,loss\n', /no row of metrics|none of its|its only line/],
  ])('refuses %s', async (name, content, message) => {
    await expect(readText(name, content)).rejects.toThrow(UserError);
    await expect(readText(name, content)).rejects.toThrow(message);
  });

  it('says what it looked for in a folder, and what it found', async () => {
    await expect(readRun(folderOf({}))).rejects.toThrow(/the folder is empty/);
    const error = await readRun(folderOf({ 'a.txt': 'x', 'b.md': 'y' })).catch((thrown: UserError) => thrown);
    expect(error).toBeInstanceOf(UserError);
    expect((error as UserError).message).toContain('found a.txt, b.md');
    expect((error as UserError).hint).toContain('checkpoint-*/trainer_state.json');
  });

  it('says that there is nothing', async () => {
    await expect(readRun(join(folderOf({}), 'missing'))).rejects.toThrow(/there is no such file/);
  });

  it('takes the log that a folder has', async () => {
    const folder = folderOf({
      'logging.jsonl': lines([{ step: 1, loss: 0.1, reward: 1 }]),
      'notes.txt': 'x',
    });
    mkdirSync(join(folder, 'images'));
    expect(steps(await readRun(folder))).toEqual([1]);
  });

  it('says what cannot be judged', async () => {
    const reading = await readText('m.jsonl', lines([{ step: 1, loss: 0.1, reward: 1 }]));
    expect(reading.notes.at(-1)).toMatch(/A log of metrics alone/);
  });
});
