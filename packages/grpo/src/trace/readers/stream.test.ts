import { execFileSync } from 'node:child_process';
import { closeSync, openSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folderOf } from '../../formats/temp-folder.test.helper.js';
import { type StageProgress, Watch } from '../../progress/watch.js';
import { lines, readText, steps } from './files.test.helper.js';
import { readRun } from './index.js';
import { linesOf } from './lines.js';
import { MOST_ENTRIES } from './rows/thinned-log.js';

/** Writes a file of about `megabytes` from rows. */
function generate(
  path: string,
  megabytes: number,
  row: (i: number) => string,
  [head, tail] = ['', ''],
): number {
  const fd = openSync(path, 'w');
  writeSync(fd, head);
  let count = 0;
  for (let bytes = 0; bytes < megabytes * 2 ** 20; ) {
    const part = Array.from({ length: 1000 }, () => row(++count)).join('');
    bytes += writeSync(fd, part);
  }
  writeSync(fd, tail);
  closeSync(fd);
  return count;
}

/** Reads in a process that has little memory, and tells what it read. */
function readSmall(path: string): { entries: number; records: number; rows: number } {
  const reader = new URL('./index.js', import.meta.url).href;
  const code = `
    const { readRun } = await import(${JSON.stringify(reader)});
    const reading = await readRun(${JSON.stringify(path)});
    let [records, rows] = [0, 0];
    for (const record of reading.records ?? []) { records++; rows += record.completions.texts.length; }
    console.log(JSON.stringify({ entries: reading.series?.entries.length ?? 0, records, rows }));`;
  const output = execFileSync(process.execPath, [
    '--max-old-space-size=40',
    '--input-type=module',
    '-e',
    code,
  ]);
  return JSON.parse(output.toString()) as { entries: number; records: number; rows: number };
}

const values = (i: number) => ({
  step: i,
  loss: 0.001 * (i % 7),
  reward: 0.5 + 0.0001 * (i % 100),
  reward_std: 0.1,
  grad_norm: 0.2,
  kl: 0.001,
  entropy: 1.2,
  'completions/mean_length': 100 + (i % 13),
});

describe('a file larger than memory', () => {
  it('of metrics is thinned out', () => {
    const path = join(folderOf({}), 'm.jsonl');
    generate(path, 48, (i) => `${JSON.stringify(values(i))}\n`);
    const { entries } = readSmall(path);
    expect(entries).toBeGreaterThan(MOST_ENTRIES / 2);
    expect(entries).toBeLessThanOrEqual(MOST_ENTRIES + 1);
  });

  it('tells how much of it has been read', async () => {
    const path = join(folderOf({}), 'm.jsonl');
    generate(path, 3, (i) => `${JSON.stringify(values(i))}\n`);
    const { size } = statSync(path);
    const heard: StageProgress[] = [];
    await readRun(path, new Watch({ progress: (now) => heard.push(now) }));
    expect(heard.every(({ stage, total }) => stage === 'reading' && total === size)).toBe(true);
    expect(heard.map(({ done }) => done)).toEqual([2 ** 20, 2 ** 21, 3 * 2 ** 20, size]);
  });

  it('may have a line that does not fit: the lines after it are read under their numbers', () => {
    const path = join(folderOf({}), 'x.log');
    const line = 'x'.repeat(2 ** 20);
    generate(path, 48, (i) => (i <= 48 ? line : ''), [
      '{"step": 1, "loss": 1}\n',
      '\n{"step": 2, "loss": 2}\n',
    ]);
    const found = [...linesOf(path)].map(({ text, ...rest }) => ({ ...rest, length: text.length }));
    expect(found).toEqual([
      { line: 1, length: 22 },
      { line: 2, length: 1000, cut: true },
      { line: 3, length: 22 },
    ]);
  });

  it('is a trainer_state.json', () => {
    const path = join(folderOf({}), 'trainer_state.json');
    const row = (i: number) => `${i === 1 ? '' : ','}\n    ${JSON.stringify(values(i))}`;
    generate(path, 48, row, ['{\n  "epoch": 1,\n  "log_history": [', '\n  ],\n  "logging_steps": 1\n}\n']);
    expect(readSmall(path).entries).toBeGreaterThan(MOST_ENTRIES / 2);
  });

  it('of completions is read step by step', () => {
    const path = join(folderOf({}), 'c.jsonl');
    const text = 'word '.repeat(200);
    const row = (i: number) =>
      `${JSON.stringify({ step: Math.ceil(i / 64), prompt: `p${i >> 3}`, completion: text + i, reward: i % 2 })}\n`;
    const count = generate(path, 48, row);
    expect(readSmall(path)).toEqual({ entries: 0, records: Math.ceil(count / 64), rows: count });
  });
});

describe('a log of very many entries', () => {
  it('keeps the first, the last, evaluations, and what is not finite', async () => {
    const count = 3 * MOST_ENTRIES + 17;
    const rows = Array.from({ length: count }, (_, i) => ({
      step: i + 1,
      loss: i === 30_001 ? 'NaN' : 0.1,
      reward: 0.5,
    }));
    const evaluations = [{ step: 30_011, eval_reward: 0.75 }];
    const reading = await readText(
      'm.jsonl',
      lines(rows.flatMap((row) => (row.step === 30_011 ? [row, ...evaluations] : [row]))),
    );
    const kept = steps(reading);
    expect(kept.length).toBeLessThanOrEqual(MOST_ENTRIES + 3);
    expect([kept[0], kept.at(-1)]).toEqual([1, count]);
    expect(reading.series!.entries.find(({ step }) => step === 30_002)!.values.loss).toBeNaN();
    expect(reading.series!.entries.find(({ step }) => step === 30_011)!.values.eval_reward).toBe(0.75);
    expect(reading.series!.stepsPerEntry).toBe(1);
    expect(reading.notes.join(' ')).toMatch(/every 4th was kept/);
  });
});
