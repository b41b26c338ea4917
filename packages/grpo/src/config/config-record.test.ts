import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { UserError } from '../errors/user-error.js';
import { sharedFolder } from '../formats/temp-folder.test.helper.js';
import { changedCircumstances, configRecord, recordLayer } from './config-record.js';
import { keys } from './keys.js';
import { resolveConfig } from './resolve.js';

const folder = sharedFolder();

const NOTHING = { versions: {}, engine: {}, files: {} };
const settings = ['task.data=a.jsonl', 'model=m', 'seed=7', 'objective.clipLow=0.1', 'eval.before=false'];

describe('configRecord', () => {
  it('holds every key with its value and source, the circumstances and the seed', () => {
    const record = configRecord(resolveConfig({ command: 'train', settings }), {
      versions: { grpo: '0.1.0', libtorch: '2.13.0' },
      engine: { device: 'cpu', threads: 2 },
      files: { 'a.jsonl': '12 bytes' },
    });
    expect(Object.keys(record.values)).toEqual(keys.map((key) => key.path));
    expect(record).toMatchObject({ seed: 7, engine: { threads: 2 }, files: { 'a.jsonl': '12 bytes' } });
    expect(record.values['eval.before']).toEqual({ value: false, source: 'command line' });
    expect(record.values['objective.clipHigh']).toEqual({
      value: 0.1,
      source: 'default (objective.clipLow)',
    });
  });

  it('is read back to the same configuration, with the folder that it lies in', () => {
    const first = resolveConfig({ command: 'train', settings });
    writeFileSync(join(folder, 'config.json'), JSON.stringify(configRecord(first, NOTHING)));
    const again = resolveConfig({
      command: 'train',
      layers: [recordLayer(folder)],
      settings: ['train.steps=500'],
    });
    const { output: _, train: __, ...rest } = first.config;
    expect(again.config).toEqual({ ...rest, output: folder, train: { ...first.config.train, steps: 500 } });
    // Each value keeps the source that it had in the first run.
    expect(again.provenance['eval.before']).toBe('command line');
    expect(again.provenance['train.steps']).toBe('command line');
    expect(again.provenance.output).toBe(join(folder, 'config.json'));
    const changed = resolveConfig({
      command: 'train',
      layers: [recordLayer(folder)],
      settings: ['objective.clipLow=0.3'],
    });
    expect(changed.config.objective.clipHigh).toBe(0.3);
  });

  it('says what is wrong with a folder that is no run', () => {
    const file = (text: string) => {
      const run = join(folder, 'broken');
      mkdirSync(run, { recursive: true });
      writeFileSync(join(run, 'config.json'), text);
      return run;
    };
    expect(() => recordLayer(join(folder, 'absent'))).toThrow(UserError);
    expect(() => recordLayer(join(folder, 'absent'))).toThrow(
      /cannot read .*absent.config\.json: there is no such file/,
    );
    expect(() => recordLayer(file('{'))).toThrow(/config\.json: the record of the run is not valid JSON/);
    expect(() => recordLayer(file('{"model_type": "qwen2"}'))).toThrow(/is not a run's configuration/);
    const checkpoint = join(folder, 'broken', 'checkpoints', 'step-6');
    mkdirSync(checkpoint, { recursive: true });
    writeFileSync(join(checkpoint, 'config.json'), '{"model_type": "qwen2"}');
    expect(() => recordLayer(checkpoint)).toThrow(
      expect.objectContaining({
        hint: expect.stringContaining(`the run's folder, ${join(folder, 'broken')}:`),
      }),
    );
    const stranger = file(
      '{"versions":{},"engine":{},"files":{},"seed":0,"values":{"rollout.gone":{"value":1,"source":"default"}}}',
    );
    expect(() => resolveConfig({ command: 'train', layers: [recordLayer(stranger)] })).toThrow(
      /rollout\.gone, which this version does not know/,
    );
  });
});

describe('changedCircumstances', () => {
  const before = {
    versions: { grpo: '0.1.0', libtorch: '2.12.0' },
    engine: { device: 'cpu', threads: 2 },
    files: { 'a.jsonl': '12 bytes', 'old.jsonl': '3 bytes' },
  };

  it('names what is not as it was, and no file that only one of the two used', () => {
    const now = {
      versions: { grpo: '0.1.0', libtorch: '2.13.0' },
      engine: { device: 'cpu', threads: 1, mkl: '2024.2' },
      files: { 'a.jsonl': '13 bytes', 'new.jsonl': '3 bytes' },
    };
    expect(changedCircumstances(before, now)).toEqual([
      'libtorch 2.12.0, now 2.13.0',
      'threads 2, now 1',
      'a.jsonl has changed',
    ]);
    expect(changedCircumstances(before, before)).toEqual([]);
  });
});
