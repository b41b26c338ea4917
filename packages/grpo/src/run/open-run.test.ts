import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { memory } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { FileError } from '../errors/file-error.js';
import { UserError } from '../errors/user-error.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { checkpointsIn } from './folder/checkpoint.js';
import { openRun } from './open-run.js';
import { remainsOf, resolvedRun, run } from './run.test.helper.js';
import { runSteps } from './run-steps.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';

describe('an open run', () => {
  it('whose model cannot be loaded leaves no run behind', async () => {
    const output = join(tempFolder(), 'run');
    await expect(run({ output, settings: ['model=/nowhere/at/all'] })).rejects.toThrow('no model folder');
    expect(existsSync(output)).toBe(false);
    const { end } = await run({ output, settings: [`model=${await tinyModelFolder()}`] });
    expect(end.interrupted).toBe(false);
  });

  it('whose settings are for another kind of model leaves no run behind', async () => {
    const output = join(tempFolder(), 'run');
    for (const settings of [[], [`model=${await tinyModelFolder()}`]]) {
      const given = { output, settings: [...settings, 'diffusion.steps=3'] };
      await expect(run(given)).rejects.toThrow('diffusion.steps (command line): the model writes from left');
      expect(existsSync(output)).toBe(false);
    }
  });

  it('does not write into the folder of another run', async () => {
    const output = join(tempFolder(), 'run');
    const settings = ['train.steps=8'];
    await run({ output, settings });
    const before = remainsOf(output);
    const refused = async () =>
      run({ output, settings: ['seed=5'] }).then(
        () => undefined,
        (error) => error,
      );
    expect(await refused()).toMatchObject({
      message: expect.stringContaining('holds a run already'),
      hint: expect.not.stringContaining('--restart'),
    });
    expect(remainsOf(output)).toEqual(before);
    rmSync(join(output, 'checkpoints'), { recursive: true });
    expect(await refused()).toMatchObject({ hint: expect.stringContaining(`--resume ${output} --restart`) });
  });

  it('that cannot be opened holds neither tensors nor the folder', async () => {
    const output = join(tempFolder(), 'run');
    const options = { output, settings: [`model=${await tinyModelFolder()}`] };
    await run({ ...options, stopAfter: 1 });
    const live = memory();
    const optimizer = join(output, 'checkpoints', 'step-1', 'trainer', 'optimizer.safetensors');
    rmSync(optimizer);
    for (const _ of [1, 2]) {
      await expect(openRun(resolvedRun(options), { resume: true })).rejects.toMatchObject({
        message: expect.stringContaining(optimizer),
        cause: expect.any(FileError),
      });
    }
    expect(memory()).toEqual(live);
    expect(existsSync(join(output, 'run.lock'))).toBe(false);
  });

  it.each([
    ['model.safetensors', 'damaged'],
    ['trainer/optimizer.safetensors', 'damaged'],
    ['trainer/state.json', 'damaged'],
    ['trainer/state.json', 'missing'],
    ['tokenizer.json', 'missing'],
  ])('says how to go on without a checkpoint whose %s is %s', async (name, how) => {
    const options = {
      output: join(tempFolder(), 'run'),
      settings: [`model=${await tinyModelFolder()}`, 'checkpoint.every=1'],
    };
    await run({ ...options, stopAfter: 2 });
    const dir = join(options.output, 'checkpoints', 'step-2');
    how === 'missing' ? rmSync(join(dir, name)) : truncateSync(join(dir, name), 20);
    await expect(run({ ...options, resume: true })).rejects.toMatchObject({
      message: expect.stringContaining(join(dir, name)),
      hint: `Delete ${dir} to go on from the checkpoint before it, or from the start if there is none.`,
    });
    rmSync(dir, { recursive: true });
    const { rows } = await run({ ...options, resume: true });
    expect(rows[0]?.step).toBe(2);
  });

  it.each([
    ['step', 0.5],
    ['step', 2],
    ['problems', -2],
    ['tokens', '7'],
  ])('does not go on from a state whose %s is %j', async (key, value) => {
    const options = { output: join(tempFolder(), 'run'), settings: [`model=${await tinyModelFolder()}`] };
    await run({ ...options, stopAfter: 1 });
    const path = join(options.output, 'checkpoints', 'step-1', 'trainer', 'state.json');
    const state = JSON.parse(readFileSync(path, 'utf8')) as object;
    writeFileSync(path, JSON.stringify({ ...state, [key]: value }));
    const resumed = run({ ...options, resume: true });
    await expect(resumed).rejects.toThrow(UserError);
    await expect(resumed).rejects.toThrow(new RegExp(`state\\.json is not the state .*at ${key}$`, 's'));
  });

  it('deletes the checkpoints that a killed run had no time to delete', async () => {
    const settings = [`model=${await tinyModelFolder()}`, 'checkpoint.every=1', 'checkpoint.keep=3'];
    const options = { output: join(tempFolder(), 'run'), settings };
    await run(options);
    const keepOne = resolvedRun({ ...options, settings: [...settings, 'checkpoint.keep=1'] });
    await (await openRun(keepOne, { resume: true }))[Symbol.asyncDispose]();
    expect(checkpointsIn(join(options.output, 'checkpoints')).map(({ step }) => step)).toEqual([8]);
  });

  it('frees everything when it is disposed', async () => {
    const options = { output: join(tempFolder(), 'run'), settings: [`model=${await tinyModelFolder()}`] };
    const live = memory();
    const session = await openRun(resolvedRun(options));
    expect(memory().tensors).toBeGreaterThan(live.tensors);
    await expect(openRun(resolvedRun(options), { resume: true })).rejects.toThrow(UserError);
    await session[Symbol.asyncDispose]();
    expect(memory()).toEqual(live);
    const again = await openRun(resolvedRun(options), { resume: true });
    await again[Symbol.asyncDispose]();
  });

  it('refuses to resume what is no run', async () => {
    const options = { output: join(tempFolder(), 'run'), settings: [`model=${await tinyModelFolder()}`] };
    await expect(openRun(resolvedRun(options), { resume: true })).rejects.toThrow(
      /config\.json: there is no such file/,
    );
  });
});

describe('the steps of a session', () => {
  /** A run whose steps do nothing: its evaluations and checkpoints. */
  async function course(
    settings: string[],
    { steps = 5, stopAfter = 0, stopInEvaluation = -1, auditSeconds = 0 } = {},
  ) {
    const output = join(tempFolder(), 'run');
    const interrupt = new AbortController();
    const evaluations: number[] = [];
    const rows: number[] = [];
    const savedAtEvaluation: Record<number, number[]> = {};
    const resolved = resolvedRun({ output, settings: [`model=${await tinyModelFolder()}`, ...settings] });
    await using session = await openRun(resolved, {
      signal: interrupt.signal,
      watcher: {
        evaluated: (_, step) => {
          evaluations.push(step);
          savedAtEvaluation[step] = checkpointsIn(join(output, 'checkpoints'))
            .map((checkpoint) => checkpoint.step)
            .sort();
          if (step === stopInEvaluation) interrupt.abort();
        },
        step: ({ step }) => rows.push(step),
      },
    });
    const saved: number[] = [];
    const audited: number[] = [];
    const end = await runSteps(session, steps, async (index, { isSaved }) => {
      if (isSaved) audited.push(index + 1);
      for (let step = 1; step <= index; step++) {
        if (!saved.includes(step) && existsSync(join(output, 'checkpoints', `step-${step}`)))
          saved.push(step);
      }
      if (index + 1 === stopAfter) interrupt.abort();
      return { metrics: { step: index + 1, step_tokens: 1 }, seconds: { audit: auditSeconds } };
    });
    for (let step = 1; step <= steps; step++) {
      if (!saved.includes(step) && existsSync(join(output, 'checkpoints', `step-${step}`))) saved.push(step);
    }
    return { end, evaluations, rows, saved, audited, savedAtEvaluation };
  }

  it('are evaluated before and after, and saved at the end', async () => {
    const { end, savedAtEvaluation: _, audited, ...rest } = await course([]);
    expect(rest).toEqual({ evaluations: [0, 5], rows: [1, 2, 3, 4, 5], saved: [5] });
    expect(end.interrupted).toBe(false);
  });

  it('are evaluated and saved every so many, and never twice', async () => {
    const { evaluations, saved } = await course(['eval.every=2', 'checkpoint.every=2', 'eval.before=false'], {
      steps: 4,
    });
    expect([evaluations, saved]).toEqual([
      [2, 4],
      [2, 4],
    ]);
  });

  it('end after the one in which the run is interrupted, which is saved', async () => {
    const { end, savedAtEvaluation: _, audited, ...rest } = await course(['eval.every=2'], { stopAfter: 3 });
    expect(rest).toEqual({ evaluations: [0, 2], rows: [1, 2, 3], saved: [3] });
    expect(end).toMatchObject({ interrupted: true, before: { problems: 2 }, after: undefined });
  });

  it('are saved and not evaluated when the interruption comes during the last', async () => {
    const { end, evaluations, saved } = await course([], { stopAfter: 5 });
    expect([end.interrupted, evaluations, saved]).toEqual([true, [0], [5]]);
  });

  it('count as done when the interruption comes during the last evaluation', async () => {
    const { end, evaluations } = await course([], { stopInEvaluation: 5 });
    expect([end.interrupted, evaluations]).toEqual([false, [0, 5]]);
    expect(end.after).toBeDefined();
  });

  it('are saved before they are evaluated', async () => {
    const { savedAtEvaluation } = await course(['eval.every=2', 'checkpoint.every=4']);
    expect(savedAtEvaluation).toEqual({ 0: [], 2: [], 4: [4], 5: [4, 5] });
  });

  it('are saved whenever so many minutes have passed', async () => {
    const always = await course(['checkpoint.minutes=1e-9', 'checkpoint.keep=9'], { steps: 3 });
    expect(always.saved).toEqual([1, 2, 3]);
    expect((await course(['checkpoint.minutes=1'], { steps: 3 })).saved).toEqual([3]);
    expect((await course(['checkpoint.minutes=0'], { steps: 3 })).saved).toEqual([3]);
  });

  it('are audited where they are saved; by the clock, while audits take little of the time', async () => {
    const audited = async (setting: string, auditSeconds: number) =>
      (await course([setting], { steps: 4, auditSeconds })).audited;
    expect(await audited('checkpoint.minutes=1e-9', 0)).toEqual([1, 2, 3, 4]);
    expect(await audited('checkpoint.minutes=1e-9', 1000)).toEqual([1, 4]);
    expect(await audited('checkpoint.every=2', 1000)).toEqual([2, 4]);
  });
});
