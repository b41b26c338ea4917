import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { placeOf } from '../trace/readers/place.js';
import { readTensorBoard } from '../trace/readers/tensorboard/tensorboard.js';
import { remainsOf, run, stepsOf } from './run.test.helper.js';

const SINKS = 'sinks=[csv, tensorboard]';
const EVALUATED = ['eval.every=3', 'checkpoint.every=3'];

const OF_SINKS = /^(csv|tensorboard|sinks)\b/;

/** Everything that a run leaves but what its sinks wrote. */
function withoutSinks(output: string) {
  const { files, ...others } = remainsOf(output);
  return {
    ...others,
    files: Object.fromEntries(Object.entries(files).filter(([name]) => !OF_SINKS.test(name))),
  };
}

/** A table by its columns. */
function csvIn(output: string, file: string): Record<string, number[]> {
  const [header, ...rows] = readFileSync(join(output, 'csv', file), 'utf8')
    .trimEnd()
    .split('\n');
  const cells = rows.map((row) => row.split(','));
  const numberOf = (cell: string) => (cell === '' ? Number.NaN : Number(cell));
  return Object.fromEntries(
    header!.split(',').map((name, i) => [name, cells.map((row) => numberOf(row[i]!))]),
  );
}

const rowsOf = (output: string, file: string) =>
  readFileSync(join(output, file), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, number>);

/** The tables have what the files of rows have. */
function expectMirrored(output: string): void {
  const table = csvIn(output, 'metrics.csv');
  const metrics = rowsOf(output, 'metrics.jsonl');
  expect(table.step).toEqual(metrics.map(({ step }) => step));
  expect(table.reward).toEqual(metrics.map(({ reward }) => reward));
  expect(table.step_time).toEqual(rowsOf(output, 'timings.jsonl').map(({ step_time }) => step_time));
  expect(csvIn(output, 'eval.csv').step).toEqual(rowsOf(output, 'eval.jsonl').map(({ step }) => step));
}

describe('sinks', () => {
  it('get every step, and change nothing of what is trained', async () => {
    const [plain, watched] = [tempFolder(), tempFolder()];
    await run({ output: plain, settings: EVALUATED });
    const { notes } = await run({ output: watched, settings: [...EVALUATED, SINKS] });
    expect(withoutSinks(watched)).toEqual(remainsOf(plain));
    expectMirrored(watched);
    expect(notes.filter((text) => text.startsWith('Numbers also go to'))).toEqual([
      `Numbers also go to csv (${join(watched, 'csv')}), tensorboard (${join(watched, 'tensorboard')}).`,
    ]);
  });

  it('have each step once after a run that died was resumed', async () => {
    const output = tempFolder();
    const settings = [...EVALUATED, SINKS];
    await expect(run({ output, settings, crashAfter: 5 })).rejects.toThrow('the lights went out');
    expect(csvIn(output, 'metrics.csv').step).toEqual([1, 2, 3, 4, 5]);
    await run({ output, settings, resume: true });
    expectMirrored(output);
    const folder = join(output, 'tensorboard');
    expect(readdirSync(folder)).toHaveLength(2);
    const { series } = readTensorBoard(placeOf(folder));
    expect(stepsOf(readFileSync(join(output, 'metrics.jsonl'), 'utf8'))).toEqual(
      series!.entries.filter(({ step }) => step > 0).map(({ step }) => step),
    );
  });

  it('get the earlier steps too where they are added to a run that is resumed', async () => {
    const output = tempFolder();
    await run({ output, settings: EVALUATED, stopAfter: 4 });
    expect(existsSync(join(output, 'csv'))).toBe(false);
    await run({ output, settings: [...EVALUATED, 'sinks=[csv]'], resume: true });
    expectMirrored(output);
  });

  it('that cannot work are an error before the first step', async () => {
    const output = tempFolder();
    writeFileSync(join(output, 'csv'), 'a file where the folder would be');
    await expect(run({ output, settings: [SINKS] })).rejects.toThrow(/csv/);
    expect(readFileSync(join(output, 'metrics.jsonl'), 'utf8')).toBe('');
  });
});
