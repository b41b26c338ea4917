import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ConfigRecord, recordLayer } from '../../config/index.js';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { RunFolder } from './run-folder.js';

const record: ConfigRecord = {
  versions: { grpo: '0.1.0' },
  engine: { threads: 1 },
  files: {},
  seed: 3,
  values: { seed: { value: 3, source: 'command line' } },
};

const rows = (path: string, name: string) =>
  readFileSync(join(path, name), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { step: number });
const steps = (path: string, name: string) => rows(path, name).map(({ step }) => step);

/** A run that was killed after step 4 and in the middle of a row, with the checkpoint of a step. */
function killedRun(saved = 4): string {
  const path = join(tempFolder(), 'runs/one');
  const run = RunFolder.create(path, record);
  run.evaluation({ step: 0, accuracy: 0.1 });
  for (let step = 1; step <= 4; step++) {
    run.metrics({ step, loss: step === 2 ? Number.NaN : 0.5, text: 'é\n'.repeat(step) });
    run.timings({ step, step_time: 0.1 });
    run.completions([0, 1].map((index) => ({ step, index, text: 'x'.repeat(40_000) })));
  }
  run.evaluation({ step: 4, accuracy: 0.2 });
  for (const name of [`step-${saved}`, '.tmp-123-0123456789ab'])
    mkdirSync(join(run.checkpoints, saved > 0 ? name : ''), { recursive: true });
  run.close();
  appendFileSync(join(path, 'metrics.jsonl'), '{"step":5,"lo');
  writeFileSync(join(path, '.tmp-123-0123456789ab'), 'half a config.json');
  return path;
}

describe('RunFolder', () => {
  it('makes the files of a run', () => {
    const path = killedRun();
    expect(readdirSync(path).sort()).toEqual([
      '.tmp-123-0123456789ab',
      'checkpoints',
      'completions.jsonl',
      'config.json',
      'eval-completions.jsonl',
      'eval.jsonl',
      'findings.jsonl',
      'metrics.jsonl',
      'timings.jsonl',
    ]);
    expect(recordLayer(path).entries.get('seed')?.value).toBe(3);
    expect(steps(path, 'completions.jsonl')).toEqual([1, 1, 2, 2, 3, 3, 4, 4]);
    expect(rows(path, 'eval.jsonl')[1]).toEqual({ step: 4, accuracy: 0.2 });
  });

  it('refuses a folder that holds a run, and leaves it as it is', () => {
    const path = killedRun();
    const before = readFileSync(join(path, 'metrics.jsonl'), 'utf8');
    expect(() => RunFolder.create(path, { ...record, seed: 4 })).toThrow(
      /holds a run already: config\.json, metrics\.jsonl/,
    );
    expect(readFileSync(join(path, 'metrics.jsonl'), 'utf8')).toBe(before);
    expect(JSON.parse(readFileSync(join(path, 'config.json'), 'utf8'))).toEqual(record);
    expect(existsSync(join(path, 'run.lock'))).toBe(false);
  });

  it('refuses the folder of a model', () => {
    const path = tempFolder();
    for (const name of ['config.json', 'tokenizer.json']) writeFileSync(join(path, name), '{}');
    expect(() => RunFolder.create(path, record)).toThrow(`${path} holds a model`);
  });

  it('accepts a folder with other files in it', () => {
    const path = tempFolder();
    writeFileSync(join(path, 'notes.txt'), 'mine');
    RunFolder.create(path, record).close();
    expect(readFileSync(join(path, 'notes.txt'), 'utf8')).toBe('mine');
  });

  it('resumes without gap and without duplicate', async () => {
    const path = killedRun(2);
    const kept = rows(path, 'completions.jsonl').slice(0, 4);
    const run = await RunFolder.resume(path, 2, { ...record, seed: 4 });
    expect(run.previous).toEqual(record);
    expect(readdirSync(path)).not.toContain('.tmp-123-0123456789ab');
    expect(readdirSync(run.checkpoints)).toEqual(['step-2']);
    for (const step of [3, 4]) {
      run.metrics({ step, loss: 7 });
      run.timings({ step, step_time: 0.1 });
      run.completions([{ step, index: 0 }]);
    }
    run.evaluation({ step: 4, accuracy: 0.9 });
    run.close();
    run.close();
    expect(steps(path, 'metrics.jsonl')).toEqual([1, 2, 3, 4]);
    expect(steps(path, 'timings.jsonl')).toEqual([1, 2, 3, 4]);
    expect(rows(path, 'metrics.jsonl')[1]).toEqual({ step: 2, loss: 'NaN', text: 'é\né\n' });
    expect(rows(path, 'completions.jsonl')).toEqual([...kept, { step: 3, index: 0 }, { step: 4, index: 0 }]);
    expect(rows(path, 'eval.jsonl')).toEqual([
      { step: 0, accuracy: 0.1 },
      { step: 4, accuracy: 0.9 },
    ]);
  });

  it('resumes at the last step, and not where a newer checkpoint has come in between', async () => {
    const path = killedRun();
    await expect(RunFolder.resume(path, 2, record)).rejects.toThrow('a checkpoint of step 4, which is newer');
    expect(readdirSync(join(path, 'checkpoints'))).toContain('step-4');
    (await RunFolder.resume(path, 4, record)).close();
    expect(steps(path, 'metrics.jsonl')).toEqual([1, 2, 3, 4]);
  });

  it('resumes before the first step where it is told to', async () => {
    const path = killedRun(0);
    await expect(RunFolder.resume(path, 0, record)).rejects.toThrow('the rows of its 4 steps would be lost');
    (await RunFolder.resume(path, 0, record, true)).close();
    for (const name of ['metrics.jsonl', 'completions.jsonl', 'timings.jsonl'])
      expect(steps(path, name)).toEqual([]);
    // The evaluation before the first step is that of the same model.
    expect(steps(path, 'eval.jsonl')).toEqual([0]);
  });

  it('keeps the evaluation of the step that it goes on after, if it is whole', async () => {
    const path = killedRun();
    const torn = join(path, 'eval-completions.jsonl');
    writeFileSync(torn, '{"step":0}\n{"step":2}\n{"step":4}\n{"step":4}\n');
    const whole = await RunFolder.resume(path, 4, record);
    expect([whole.isEvaluated(4), steps(path, 'eval-completions.jsonl')]).toEqual([true, [0, 2, 4, 4]]);
    whole.close();
    rmSync(join(path, 'checkpoints'), { recursive: true });
    const cut = await RunFolder.resume(path, 2, record);
    expect([cut.isEvaluated(2), steps(path, 'eval-completions.jsonl')]).toEqual([false, [0]]);
    cut.evaluation({ step: 2 });
    expect(cut.isEvaluated(2)).toBe(true);
    cut.close();
  });

  it('says what it cannot resume', async () => {
    const path = tempFolder();
    await expect(RunFolder.resume(path, 1, record)).rejects.toThrow(
      /cannot read .*config\.json: there is no such file/,
    );
    const run = killedRun(2);
    writeFileSync(join(run, 'metrics.jsonl'), '{"step":1}\n{"steps":2}\n');
    await expect(RunFolder.resume(run, 2, record)).rejects.toThrow(
      /metrics\.jsonl:2: a row must have the number of its step/,
    );
    expect(existsSync(join(run, 'run.lock'))).toBe(false);
  });
});

describe('the lock of a run folder', () => {
  const lockOf = (path: string) => join(path, 'run.lock');

  it('keeps a second run out until the first one is closed', async () => {
    const path = killedRun();
    const first = await RunFolder.resume(path, 4, record);
    await expect(RunFolder.resume(path, 4, record)).rejects.toThrow(
      `in use by a run that is still running (process ${process.pid},`,
    );
    expect(existsSync(lockOf(path))).toBe(true);
    first.close();
    const second = await RunFolder.resume(path, 4, record);
    first.close();
    expect(existsSync(lockOf(path))).toBe(true);
    second.close();
  });
});
