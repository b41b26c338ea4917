import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configRecord } from '../../config/index.js';
import { resolveConfig } from '../../config/resolve.js';
import { folderOf } from '../../formats/temp-folder.test.helper.js';
import { RECORD_VERSION, type StepRecord } from '../record.js';
import { writeStepRecord } from '../write.js';
import { column, lines, steps } from './files.test.helper.js';
import { readRun } from './index.js';

const record = (step: number): StepRecord => ({
  format: 'grpo-step',
  version: RECORD_VERSION,
  step,
  producer: { name: 'grpo' },
  completions: { texts: ['a', 'b'], prompt: Int32Array.of(0, 0) },
  prompts: { texts: ['p'] },
  rewards: { names: ['right'], values: Float64Array.of(1, 0), totals: Float64Array.of(1, 0) },
});

const settings = ['task.data=a.jsonl', 'model=m', 'kl.beta=0.1', 'rollout.group=4', 'objective.clipHigh=0.3'];
const config = JSON.stringify(
  configRecord(resolveConfig({ command: 'train', settings, env: {} }), {
    versions: { grpo: '0.1.0' },
    engine: {},
    files: {},
  }),
);
const metrics = (step: number) => ({
  step,
  reward: 0.5,
  reward_std: 0.1,
  loss: 0.01,
  kl: 0,
  step_tokens: 90,
});
const completion = (step: number, index: number) => ({
  step,
  prompt: 0,
  index,
  prompt_text: 'p',
  completion: `c${index}`,
  finish_reason: index === 0 ? 'stop' : 'length',
  length: 3,
  reward: index,
  rewards: { right: index },
  advantage: index - 0.5,
});

describe('a run folder of ours', () => {
  it('that ended in no step is said to be that, and not to be of other training', async () => {
    const folder = folderOf({
      'config.json': config,
      'metrics.jsonl': '',
      'eval.jsonl': lines([{ step: 0, greedy: { reward: 0.5 } }]),
    });
    const reading = await readRun(folder);
    expect(reading.isGrpo).toBe(true);
    expect(reading.notes.join(' ')).toContain('has not ended its first step');
    expect(reading.notes.join(' ')).not.toContain('supervised');
  });

  it('may have evaluations in which no completion has a reward', async () => {
    const score = {
      accuracy: null,
      low: null,
      high: null,
      correct: null,
      reward: null,
      rewards: { own: null },
    };
    const row = {
      step: 0,
      problems: 2,
      greedy: { ...score, truncated: 1 },
      sampled: { ...score, truncated: 1 },
    };
    const folder = folderOf({ 'metrics.jsonl': lines([metrics(1)]), 'eval.jsonl': lines([row]) });
    expect((await readRun(folder)).broken.count).toBe(0);
  });

  it('is one without its metrics, too, and says that they are not there', async () => {
    const folder = folderOf({ 'config.json': config, 'timings.jsonl': lines([{ step: 1, step_time: 1 }]) });
    writeStepRecord(join(folder, 'steps/000001'), record(1));
    const reading = await readRun(folder);
    expect(reading).toMatchObject({ kind: 'run folder of grpo', isGrpo: true });
    expect(reading.notes.join('\n')).toContain('metrics.jsonl is not there');
    expect([...reading.records!]).toHaveLength(1);
  });

  it('gives metrics with timings and evaluations, settings, records and completions', async () => {
    const folder = folderOf({
      'config.json': config,
      'metrics.jsonl': lines([metrics(1), metrics(2), metrics(3)]),
      'timings.jsonl': lines(
        [1, 2, 3].map((step) => ({
          step,
          step_time: step / 2,
          'seconds/rollout': 0.1,
          'reward_seconds/answer': 0.004 / step,
        })),
      ),
      'eval.jsonl': lines([{ step: 0, problems: 9, greedy: { accuracy: 0.25, reward: 0.5, rewards: {} } }]),
      'completions.jsonl': lines([1, 2, 3].flatMap((step) => [completion(step, 0), completion(step, 1)])),
    });
    writeStepRecord(join(folder, 'steps/000002'), record(2));
    const reading = await readRun(folder);
    expect(reading).toMatchObject({ kind: 'run folder of grpo', isGrpo: true, broken: { count: 0 } });
    expect(steps(reading)).toEqual([0, 1, 2, 3]);
    expect(column(reading, 'step_time')).toEqual([undefined, 0.5, 1, 1.5]);
    // How long a reward takes is no reward.
    expect(reading.series!.entries.flatMap(({ values }) => Object.keys(values))).not.toContainEqual(
      expect.stringMatching(/^rewards\/.*seconds/),
    );
    expect(column(reading, 'eval_accuracy')).toEqual([0.25, undefined, undefined, undefined]);
    expect(column(reading, 'eval_reward')[0]).toBe(0.5);
    expect(reading.series).toMatchObject({ producer: { name: 'grpo', version: '0.1.0' }, stepsPerEntry: 1 });
    expect(reading.declared).toMatchObject({
      rollout: { group: 4 },
      objective: { loss: 'dapo', clipLow: 0.2, clipHigh: 0.3 },
      kl: { beta: 0.1 },
      optimizer: { maxGradNorm: 1 },
      updatesPerRollout: 1,
      dtype: 'float32',
    });
    const records = [...reading.records!];
    expect(records.map(({ step, completions }) => [step, completions!.texts![0]])).toEqual([
      [1, 'c0'],
      [2, 'a'],
      [3, 'c0'],
    ]);
    expect(records[0]!.completions!.finish).toEqual(['stop', 'length']);
    expect([...records[0]!.advantages!]).toEqual([-0.5, 0.5]);
    expect([...reading.completions!]).toHaveLength(6);
  });

  it('counts evaluations again from their completions, and takes the rules of rewards', async () => {
    const evaluated = (step: number, correct: boolean) => ({ step, decoding: 'greedy', length: 5, correct });
    const folder = folderOf({
      'config.json': config,
      'metrics.jsonl': lines([metrics(1)]),
      'eval.jsonl': lines([{ step: 1, greedy: { total: 2, correct: 1 } }]),
      'eval-completions.jsonl': lines([evaluated(0, true), evaluated(1, true), evaluated(1, false)]),
      'completions.jsonl': lines([
        { ...completion(1, 0), reward_rules: { right: 'equal' } },
        completion(1, 1),
      ]),
    });
    const { series, records } = await readRun(folder);
    expect(series!.evaluations).toEqual([
      { step: 0, decoding: 'greedy', total: 1, correct: 1, tokens: 5 },
      { step: 1, decoding: 'greedy', total: 2, correct: 1, tokens: 10 },
    ]);
    expect(series!.entries.at(-1)!.values).toMatchObject({
      'eval_greedy/total': 2,
      'eval_greedy/correct': 1,
    });
    expect([...records!][0]!.rewards!.rules).toEqual([['equal', null]]);
  });

  it('of expert iteration compares no completions', async () => {
    const expert = { ...JSON.parse(config), command: 'expert' };
    const folder = folderOf({ 'config.json': JSON.stringify(expert), 'metrics.jsonl': lines([metrics(1)]) });
    expect((await readRun(folder)).declared).toMatchObject({
      advantage: { baseline: 'none' },
      dtype: 'float32',
    });
  });

  it('of SFT has no GRPO signals', async () => {
    const folder = folderOf({
      'config.json': config,
      'metrics.jsonl': lines([{ step: 1, loss: 2, grad_norm: 1, step_tokens: 5 }]),
    });
    const reading = await readRun(folder);
    expect(reading.isGrpo).toBe(false);
    expect(reading.declared).toBeUndefined();
    expect(reading.notes.join(' ')).toContain('No GRPO signals here');
    writeFileSync(join(folder, 'config.json'), JSON.stringify({ ...JSON.parse(config), command: 'sft' }));
    const [none, ...more] = (await readRun(folder)).notes;
    expect(more).toEqual([]);
    expect(none).toMatch(/learned from demonstrations.* None of its steps was held/);
    writeFileSync(join(folder, 'timings.jsonl'), lines([{ step: 1, 'seconds/audit': 0.2 }]));
    expect((await readRun(folder)).notes[0]).toContain('1 of its 1 steps was held to a second computation');
  });

  it('is read without settings that cannot be', async () => {
    const folder = folderOf({ 'config.json': '{}', 'metrics.jsonl': lines([metrics(1)]) });
    const reading = await readRun(folder);
    expect(reading.notes.join(' ')).toContain('The settings are not known');
    expect(steps(reading)).toEqual([1]);
  });

  it('before its first step says so', async () => {
    const folder = folderOf({ 'config.json': config, 'metrics.jsonl': '' });
    expect((await readRun(folder)).notes.join(' ')).toContain('has no row yet');
  });
});

describe('step records', () => {
  it('are read one by one, in the order of their steps', async () => {
    const folder = folderOf({});
    for (const step of [10, 2, 1]) writeStepRecord(join(folder, `${step}`), record(step));
    const reading = await readRun(folder);
    expect(reading.kind).toBe('3 step records');
    expect([...reading.records!].map(({ step }) => step)).toEqual([1, 2, 10]);
  });

  it('are read alone, by folder and by file', async () => {
    const folder = folderOf({});
    writeStepRecord(folder, record(7));
    for (const path of [folder, join(folder, 'step.json')]) {
      const reading = await readRun(path);
      expect(reading.kind).toBe('step record');
      expect([...reading.records!][0]!.step).toBe(7);
    }
  });

  it('that are broken are passed over and counted, and refused when there is no other', async () => {
    const folder = folderOf({});
    for (const step of [1, 2]) writeStepRecord(join(folder, `${step}`), record(step));
    writeFileSync(join(folder, '1/step.json'), '{"format": "grpo-step"');
    const reading = await readRun(folder);
    expect([...reading.records!].map(({ step }) => step)).toEqual([2]);
    expect(reading.broken.count).toBe(1);
    rmSync(join(folder, '2'), { recursive: true });
    await expect(readRun(folder)).rejects.toThrow(/not valid JSON/);
  });
});

describe('metrics of argen, a file a step', () => {
  const step = {
    loss: 0,
    grad_norm: 0,
    reward: 0.5,
    reward_std: 0,
    'completions/clipped_ratio': 1,
    num_tokens: 668,
  };

  it('are one series', async () => {
    const folder = folderOf({
      'step_10_logs.json': JSON.stringify(step),
      'step_2_logs.json': JSON.stringify(step, null, 2),
      'step_3_logs.json': '{"loss": 0.0,',
      'step_2_completion_0.txt': 'x',
    });
    const reading = await readRun(folder);
    expect(reading.kind).toBe('TRL metrics, one JSON file per step');
    expect(steps(reading)).toEqual([2, 10]);
    expect(column(reading, 'completions/clipped_ratio')).toEqual([1, 1]);
    expect(reading.broken.count).toBe(1);
    const one = await readRun(join(folder, 'step_10_logs.json'));
    expect(steps(one)).toEqual([10]);
  });
});
