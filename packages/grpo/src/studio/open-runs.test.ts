import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { OpenRuns } from './open-runs.js';

const row = (step: number, reward: number) => `${JSON.stringify({ step, reward, loss: 0.1 })}\n`;

function runFolder(rows: number): string {
  const folder = join(tempFolder(), 'run');
  mkdirSync(join(folder, 'steps', '000002'), { recursive: true });
  writeFileSync(join(folder, 'config.json'), '{}');
  writeFileSync(
    join(folder, 'metrics.jsonl'),
    Array.from({ length: rows }, (_, i) => row(i + 1, i)).join(''),
  );
  writeFileSync(
    join(folder, 'completions.jsonl'),
    [1, 1, 2, 3]
      .map((step) => `${JSON.stringify({ step, prompt: 'p', completion: `of ${step}`, total: 1 })}\n`)
      .join(''),
  );
  writeFileSync(
    join(folder, 'steps', '000002', 'step.json'),
    JSON.stringify({ format: 'grpo-step', version: 2, step: 2, producer: { name: 'grpo' } }),
  );
  return folder;
}

it('reads a run once, until what it was read from changes', async () => {
  const folder = runFolder(2);
  const runs = new OpenRuns([folder]);
  const first = await runs.reading(folder);
  appendFileSync(join(folder, 'metrics.jsonl'), row(3, 2));
  expect(await runs.reading(folder)).toBe(first);
  runs.refresh([`${folder}-other`]);
  expect((await runs.reading(folder)).series?.entries).toHaveLength(2);
  runs.refresh([join(folder, 'metrics.jsonl')]);
  expect((await runs.reading(folder)).series?.entries).toHaveLength(3);
});

it('finds the record of a step in its folder, or in the completions', async () => {
  const folder = runFolder(3);
  const runs = new OpenRuns([folder]);
  expect(runs.stepFolder(folder, 2)).toBe(join(folder, 'steps', '000002'));
  expect(runs.stepFolder(folder, 1)).toBeUndefined();
  expect((await runs.textRecord(folder, 3))?.completions?.texts).toEqual(['of 3']);
  expect(await runs.textRecord(folder, 4)).toBeUndefined();
});

it('finds the completions of a step in a long file, and in one that was cut off', async () => {
  const folder = runFolder(1);
  const row = (step: number, index: number) =>
    `${JSON.stringify({ step, prompt: 'p', index, completion: `${step}.${index} ${'x'.repeat(5000)}`, total: 1 })}\n`;
  const text = Array.from({ length: 400 }, (_, i) => row(1 + Math.floor(i / 4), i % 4)).join('');
  writeFileSync(join(folder, 'completions.jsonl'), text.slice(0, -100));
  const runs = new OpenRuns([folder]);
  for (const step of [1, 2, 50, 99]) {
    const texts = (await runs.textRecord(folder, step))?.completions?.texts;
    expect(texts?.map((one) => one.split(' ')[0])).toEqual([0, 1, 2, 3].map((i) => `${step}.${i}`));
  }
  expect((await runs.textRecord(folder, 100))?.completions?.texts).toHaveLength(3);
  expect(await runs.textRecord(folder, 101)).toBeUndefined();
});

it('names the step of a record that stands alone as the record does', () => {
  const folder = join(runFolder(1), 'steps', '000002');
  expect(new OpenRuns([folder]).stepFolder(folder, 2)).toBe(folder);
  const file = join(folder, 'step.json');
  expect(new OpenRuns([file]).stepFolder(file, 2)).toBe(folder);
});

it('tells the runs of one file apart', async () => {
  const file = join(tempFolder(), 'log.jsonl');
  writeFileSync(file, [1, 2, 3, 1, 2].map((step, i) => row(step, i)).join(''));
  const runs = new OpenRuns([file]);
  const rewards = async (id: string) =>
    (await runs.reading(id)).series!.entries.map(({ values }) => values.reward);
  expect(await rewards(`${file}#1`)).toEqual([0, 1, 2]);
  expect(await rewards(`${file}#2`)).toEqual([3, 4]);
  expect((await runs.reading(file)).notes[0]).toBe(
    'log.jsonl has several runs; this is run 1 of 2, lines 1 to 3.',
  );
  await expect(runs.reading(`${file}#3`)).rejects.toThrow('has 2 runs, and no run 3');
});

it('reads nothing outside of its roots', async () => {
  const folder = runFolder(1);
  const runs = new OpenRuns([folder]);
  for (const id of [`${folder}-other`, `${folder}/../run2`, '/', '', `${folder}/../run`])
    await expect(runs.whole(id), id).rejects.toThrow('is not among the paths');
});

it('tries again to read what could not be read', async () => {
  const file = join(tempFolder(), 'log.jsonl');
  writeFileSync(file, '\n');
  const runs = new OpenRuns([file]);
  await expect(runs.reading(file)).rejects.toThrow();
  writeFileSync(file, row(1, 0) + row(2, 1));
  expect((await runs.reading(file)).series?.entries).toHaveLength(2);
});
