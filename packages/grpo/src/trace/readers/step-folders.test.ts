import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { writeStepRecord } from '../write.js';
import { readRun } from './index.js';

const LOG = Array.from({ length: 5 }, (_, i) =>
  JSON.stringify({ step: i + 1, reward: 0.1 * i, kl: 0.01 * i }),
);

/** A folder with two step records and other files. */
function folderOf(files: Record<string, string>): string {
  const dir = tempFolder();
  for (const step of [1, 2])
    writeStepRecord(join(dir, 'steps', `00000${step}`), {
      format: 'grpo-step',
      version: 3,
      step,
      producer: { name: 'test' },
      rewards: { names: ['right'], totals: Float64Array.of(0, 1) },
    });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  return dir;
}

it('reads a log beside step records with them', async () => {
  const dir = folderOf({ 'train.jsonl': LOG.join('\n'), 'notes.txt': 'nothing to see\n' });
  const { series, records, files, kind } = await readRun(dir);
  expect(series!.entries).toHaveLength(5);
  expect([...records!]).toHaveLength(2);
  expect(files).toContain(join(dir, 'train.jsonl'));
  expect(kind).toMatch(/^2 step records and /);
});

it('reads what transformers saves of its progress', async () => {
  const log_history = LOG.map((line) => ({
    ...JSON.parse(line),
    'rewards/right/mean': 0.5,
    loss: 0,
    epoch: 1,
  }));
  const dir = folderOf({ 'trainer_state.json': JSON.stringify({ global_step: 5, log_history }) });
  expect((await readRun(dir)).series!.entries).toHaveLength(5);
});

it('takes none of several, and says so', async () => {
  const dir = folderOf({ 'a.jsonl': LOG.join('\n'), 'b.jsonl': LOG.join('\n') });
  const { series, notes } = await readRun(dir);
  expect(series).toBeUndefined();
  expect(notes.join()).toMatch(/Several logs lie beside the step records .*a\.jsonl.*b\.jsonl/);
});

it('reads records alone where no log is beside them, or one that cannot be read', async () => {
  const plain = await readRun(folderOf({ 'README.log': 'hello\n' }));
  expect(plain.series).toBeUndefined();
  expect(plain.notes.join()).toMatch(/No metrics were found in README\.log .*Step records without a log/);
});

it('begins with the error that the recorder wrote down beside them', async () => {
  const error = { step: 14, error: 'RuntimeError: no grad_fn\nTraceback' };
  const dir = folderOf({ 'steps/error.json': JSON.stringify(error), 'train.jsonl': LOG.join('\n') });
  const { kind, crash } = await readRun(dir);
  expect(crash).toBe('An error ended the run after step 14: RuntimeError: no grad_fn.');
  expect(kind).toMatch(/^2 step records of a run that an error ended and /);
});

it('tells the error where the run left nothing else', async () => {
  const dir = tempFolder();
  mkdirSync(join(dir, 'steps'));
  writeFileSync(join(dir, 'steps', 'error.json'), JSON.stringify({ step: 0, error: 'KeyError: answer' }));
  await expect(readRun(dir)).rejects.toThrow(
    /An error ended the run after step 0: KeyError: answer\. It left nothing/,
  );
});
