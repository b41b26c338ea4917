import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openCsv } from './csv.js';
import { RunFiles } from './run-files.test.helper.js';
import type { Item, Numbers } from './sink.js';

const step = (step: number, values: Numbers): Item => ({
  kind: 'step',
  step,
  time: 1,
  values,
  completions: [],
});
const evaluation = (step: number, values: Numbers): Item => ({ kind: 'evaluation', step, time: 1, values });

const read = (run: RunFiles, file: string) => readFileSync(join(run.folder, 'csv', file), 'utf8');

it('writes a row per step and per evaluation, and adds a column for a name that appears later', async () => {
  const run = new RunFiles();
  const csv = openCsv({ folder: run.folder, cursor: run.cursor(), done: 0 });
  await csv.send([
    evaluation(0, { 'greedy/reward': 0.5 }),
    step(1, { reward: 0.1, 'rewards/a,"b"/mean': 2 }),
  ]);
  await csv.send([step(2, { reward: Number.NaN, kl: 1e-9 })]);
  expect(read(run, 'metrics.csv')).toBe('step,reward,"rewards/a,""b""/mean",kl\n1,0.1,2,\n2,NaN,,1e-9\n');
  expect(read(run, 'eval.csv')).toBe('step,greedy/reward\n0,0.5\n');
});

it('is cut back with the run, and has nothing twice after a kill', async () => {
  const run = new RunFiles();
  const cursor = run.cursor();
  const csv = openCsv({ folder: run.folder, cursor, done: 0 });
  const items = [1, 2, 3, 4].map((n) => step(n, { reward: n, 'a,b': 1 }));
  for (const item of items) {
    await csv.send([item]);
    cursor.advance([item]);
  }
  // Killed after rows were written, and before that was noted.
  await csv.send([step(5, { reward: 5 }), evaluation(5, { reward: 5 })]);
  appendFileSync(join(run.folder, 'csv', 'metrics.csv'), '6,0.');

  const resumed = run.cursor();
  const again = openCsv({ folder: run.folder, cursor: resumed, done: 4 });
  expect(resumed.delivered).toEqual({ step: 3, findings: 3, evaluation: 3 });
  await again.send([step(4, { reward: 44, 'a,b': 1 }), step(5, { reward: 55 })]);
  expect(read(run, 'metrics.csv')).toBe('step,reward,"a,b"\n1,1,1\n2,2,1\n3,3,1\n4,44,1\n5,55,\n');
  expect(read(run, 'eval.csv')).toBe('step,reward\n');

  const earlier = run.cursor();
  openCsv({ folder: run.folder, cursor: earlier, done: 1 });
  expect(read(run, 'metrics.csv')).toBe('step,reward,"a,b"\n1,1,1\n');
  expect(earlier.delivered.step).toBe(1);
});
