import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { folderOf } from '../../../formats/temp-folder.test.helper.js';
import { RECORD_VERSION } from '../../record.js';
import { writeStepRecord } from '../../write.js';
import { column, readText, steps, TRL_RUN } from '../files.test.helper.js';
import { readRun } from '../index.js';

const run = fileURLToPath(TRL_RUN);
const state = readFileSync(join(run, 'checkpoint-4/trainer_state.json'), 'utf8');
const args = readFileSync(join(run, 'checkpoint-4/training_args.bin'));

describe('an output folder of TRL', () => {
  it('gives metrics, completions and settings', async () => {
    const reading = await readRun(run);
    expect(reading).toMatchObject({
      kind: 'TRL output folder',
      isGrpo: true,
      broken: { count: 0 },
    });
    expect(steps(reading)).toEqual([1, 2, 3, 4]);
    expect(reading.series).toMatchObject({ stepsPerEntry: 1 });
    // As GRPOConfig of make_trl_run.py has them, and the defaults of TRL 1.13.
    expect(reading.declared).toMatchObject({
      rollout: { group: 4, maxNewTokens: 48, temperature: 1 },
      objective: { loss: 'dapo', clipLow: 0.2, clipHigh: 0.2, maskTruncated: false },
      advantage: { scale: 'group' },
      kl: { beta: 0.02, estimator: 'k3' },
      updatesPerRollout: 1,
      optimizer: { learningRate: 1e-3, maxGradNorm: 1 },
    });
  });

  it('has records whose advantages follow from their rewards', async () => {
    const reading = await readRun(run);
    const records = [...reading.records!];
    expect(records.map(({ step }) => step)).toEqual([1, 2, 3, 4]);
    for (const { rewards, advantages, completions, prompts } of records) {
      expect(rewards!.names).toEqual(['digits', 'short']);
      expect(prompts!.texts).toHaveLength(2);
      expect([...completions!.prompt!]).toEqual([0, 0, 0, 0, 1, 1, 1, 1]);
      for (const group of [0, 4]) {
        const totals = [...rewards!.totals!.subarray(group, group + 4)];
        const mean = totals.reduce((a, b) => a + b, 0) / 4;
        const deviation = Math.sqrt(totals.reduce((a, b) => a + (b - mean) ** 2, 0) / 3);
        for (const [i, total] of totals.entries())
          expect(advantages![group + i]).toBeCloseTo((total - mean) / (deviation + 1e-4), 4);
      }
    }
    // The reward function gave None for the fourth completion.
    expect(records[0]!.rewards!.values![8 + 3]).toBeNaN();
    const rows = [...reading.completions!];
    expect(rows).toHaveLength(32);
    expect(rows[0]).toMatchObject({
      step: 1,
      prompt: records[0]!.prompts!.texts![0],
      completion: expect.any(String),
    });
    expect(Object.keys(rows[0]!.rewards)).toEqual(['digits', 'short']);
  });

  it('tells the version, and with it what reward_std is', async () => {
    const folder = folderOf({
      'README.md': '### Versions\n\n- TRL: 0.17.0\n- Transformers: 4.51.3\n',
      'trainer_state.json': state,
    });
    const old = await readRun(folder);
    expect(old.series).toMatchObject({ producer: { version: '0.17.0' }, rewardDeviation: 'groups' });
    expect(old.notes.join(' ')).toMatch(/No completions.*No training_args/);
    // Those of the recorder have both.
    writeStepRecord(join(folder, 'steps/000001'), {
      format: 'grpo-step',
      version: RECORD_VERSION,
      step: 1,
      producer: { name: 'TRL' },
    });
    expect((await readRun(folder)).notes.join(' ')).not.toMatch(/No completions|No training_args/);
  });

  it('takes the latest checkpoint', async () => {
    const early = state.replaceAll('"reward": ', '"reward": 9');
    const folder = folderOf({
      'checkpoint-4/trainer_state.json': early,
      'checkpoint-20/trainer_state.json': state,
      'checkpoint-3/x': '',
    });
    expect((await readRun(folder)).files[0]).toMatch(/checkpoint-20/);
  });

  it('gives groups from the prompts where the settings are missing', async () => {
    const reading = await readRun(join(run, 'completions'));
    expect(reading.kind).toBe('TRL completions, Parquet');
    const [first] = reading.records!;
    expect([...first!.completions!.prompt!]).toEqual([0, 0, 0, 0, 1, 1, 1, 1]);
    // The weights are not known, so there are no totals.
    expect(first!.rewards!.totals).toBeUndefined();
  });

  it('is read as far as it goes when parts of it are broken', async () => {
    const folder = folderOf({
      'checkpoint-4/trainer_state.json': state,
      'checkpoint-4/training_args.bin': args.subarray(0, 300),
      'completions/completions_00007.parquet': new Uint8Array(50).fill(7),
    });
    cpSync(join(run, 'completions'), join(folder, 'completions'), { recursive: true });
    const reading = await readRun(folder);
    expect([...reading.records!]).toHaveLength(4);
    expect(reading.broken.count).toBe(2);
    expect(reading.broken.first.map(({ reason }) => reason).join(' ')).toMatch(/training arguments.*Parquet/);
  });
});

describe('trainer_state.json', () => {
  const log = (rows: readonly object[], more: object = {}) =>
    JSON.stringify({ epoch: 1, global_step: 20, log_history: rows, logging_steps: 5, ...more }, null, 2);
  const row = (step: number, more: object = {}) => ({
    step,
    loss: 0.1,
    reward: 0.2,
    reward_std: 0.1,
    num_tokens: 1,
    ...more,
  });

  it('of the real run', async () => {
    const reading = await readText('trainer_state.json', state);
    expect(reading.kind).toBe('TRL trainer_state.json');
    expect(column(reading, 'kl')[0]).toBe(0);
    expect(column(reading, 'reward_std').every((value) => value! > 0)).toBe(true);
    // Two rewards: nothing tells whether the deviation is of groups or of the batch.
    expect(reading.series!.rewardDeviation).toBeUndefined();
    expect(reading.declared).toEqual({
      advantage: { epsilon: 1e-4, ddof: 1 },
      kl: { estimator: 'k3' },
    });
  });

  it('averages over logging_steps', async () => {
    const rows = [5, 10, 15].map((step) => row(step, { grad_norm: 1 }));
    const reading = await readText('trainer_state.json', log(rows));
    expect(reading.series!.stepsPerEntry).toBe(5);
    expect(reading.notes.join(' ')).toMatch(/averages over 5 steps, but its grad_norm is that of the last/);
    // No KL in the log: β is 0.
    expect(reading.declared).toMatchObject({ kl: { beta: 0 } });
    const share = await readText(
      'trainer_state.json',
      log([row(5), row(10), row(15)], { logging_steps: 0.25 }),
    );
    expect(share.series!.stepsPerEntry).toBe(5);
    expect(share.notes.join(' ')).not.toContain('grad_norm');
  });

  it('puts evaluations to their step', async () => {
    const rows = [
      { step: 0, eval_reward: 0.1 },
      row(5),
      { step: 5, eval_reward: 0.3, eval_runtime: 2 },
      row(10),
    ];
    const reading = await readText('trainer_state.json', log(rows));
    expect(steps(reading)).toEqual([0, 5, 10]);
    expect(column(reading, 'eval_reward')).toEqual([0.1, 0.3, undefined]);
  });

  it('reads a NaN loss', async () => {
    const text = log([row(5), row(10)]).replace('"loss": 0.1', '"loss": NaN');
    expect(column(await readText('trainer_state.json', text), 'loss')).toEqual([Number.NaN, 0.1]);
  });

  it('is read up to where it was cut off', async () => {
    const text = log([row(5), row(10), row(15)]);
    const reading = await readText('trainer_state.json', text.slice(0, text.indexOf('"step": 15')));
    expect(steps(reading)).toEqual([5, 10]);
    expect(reading.broken).toMatchObject({
      count: 1,
      first: [{ reason: expect.stringContaining('ends within') }],
    });
  });

  it('on one line, and under another name', async () => {
    const reading = await readText('state_backup.json', JSON.stringify(JSON.parse(state)));
    expect(steps(reading)).toEqual([1, 2, 3, 4]);
  });

  it('of supervised training has no GRPO signals', async () => {
    const rows = [{ step: 5, loss: 1.2, grad_norm: 1, epoch: 0.1 }];
    const reading = await readText('trainer_state.json', log(rows));
    expect(reading).toMatchObject({ kind: 'transformers trainer_state.json', isGrpo: false });
  });

  it('without entries says what to do', async () => {
    await expect(readText('trainer_state.json', log([]))).rejects.toThrow(/log_history has no entry/);
  });
});
