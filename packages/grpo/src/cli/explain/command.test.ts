import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readsKey } from '../../config/command-keys.js';
import { configRecord, resolveConfig } from '../../config/index.js';
import { keys } from '../../config/keys.js';
import { PRESET_NAMES } from '../../config/presets/index.js';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { diffPage } from '../diff/diff-page.js';
import { differences } from '../diff/differences.js';
import { grpo } from '../grpo.test.helper.js';
import { askedBy, explain } from './explained.js';
import { explainedPage } from './explained-page.js';

const settingsOf = (name: string) => explain(askedBy(name)).settings;
const valueIn = (name: string, key: string) => settingsOf(name).find((one) => one.key === key)?.value;
const diff = (a: string, b: string) => differences(explain(askedBy(a)), explain(askedBy(b)));

describe('explain', () => {
  it.each(['defaults', ...PRESET_NAMES])('%s fits 80 columns', (name) => {
    const page = explainedPage(explain(askedBy(name)), 80);
    const long = page.split('\n').filter((line) => [...line].length > 80);
    expect(long).toEqual([]);
    expect(page).toContain('What is minimized\n  L = ');
  });

  it('has every setting of training that has an effect, with its source', () => {
    const { settings } = explain({});
    const shown = settings.map(({ key }) => key);
    expect(shown).toContain('objective.clipHigh');
    expect(shown).not.toContain('objective.cap');
    expect(shown).not.toContain('kl.estimator');
    for (const { key, source, help } of settings) {
      expect(readsKey('explain', key)).toBe(true);
      expect(source, key).toMatch(/^default( \(.*\))?$/);
      expect(help.length, key).toBeGreaterThan(10);
    }
  });

  it('cites the source of a preset', () => {
    const [group] = settingsOf('dapo').filter(({ key }) => key === 'rollout.group');
    expect(group).toMatchObject({
      value: 16,
      unit: 'completions per prompt',
      source: 'DAPO (Yu et al., 2025), section 4.1',
      help: expect.stringMatching(/more sharpens the advantage, less is faster/),
    });
  });

  it('knows what every number counts', () => {
    const numbers = keys.filter(({ schema }) => /number|integer/.test(schema.type ?? ''));
    const explained = numbers.filter(({ path }) => readsKey('explain', path));
    const plain = explained.filter(({ unit }) => unit === undefined).map(({ path }) => path);
    expect(plain).toEqual([
      ...[
        'seed',
        'rollout.temperature',
        'rollout.repetitionPenalty',
        'objective.clipLow',
        'objective.clipHigh',
      ],
      ...['objective.delta', 'objective.cap', 'objective.divergenceLow', 'objective.divergenceHigh'],
      ...['objective.slopePositive', 'objective.slopeNegative'],
      ...[
        'advantage.weight',
        'advantage.clip',
        'kl.up',
        'kl.down',
        'kl.least',
        'kl.most',
        'entropy.least',
        'entropy.most',
      ],
      ...['correction.min', 'correction.max', 'optimizer.beta1', 'optimizer.beta2', 'optimizer.epsilon'],
      ...['optimizer.maxGradNorm', 'eval.temperature', 'eval.stopAt'],
    ]);
    expect(keys.filter(({ unit }) => unit !== undefined).every((key) => numbers.includes(key))).toBe(true);
  });

  it('takes files and settings, and prints JSON', async () => {
    const folder = tempFolder();
    writeFileSync(join(folder, 'run.yaml'), 'preset: gspo\nmodel: m\nrollout: {topP: 0.9}\n');
    const page = await grpo(folder, 'explain', '--config', 'run.yaml', 'kl.beta=0.1', 'kl.estimator=k1');
    expect(page).toMatchObject({ code: 0, err: '' });
    expect(page.out).toContain('UNSOUND  The gradient of k1 in the loss is not that of the KL');
    expect(page.out).toMatch(/rollout\.topP = 0\.9 of the probability {2}\[run\.yaml:3\]/);
    expect(page.out).toMatch(/objective\.clipLow = 0\.0003 {2}\[preset gspo \(GSPO .*section 5\.1\)\]/);
    const json = JSON.parse((await grpo(folder, 'explain', '--json', 'r1')).out);
    expect(json).toMatchObject({
      name: 'r1',
      formula: { loss: expect.any(Array) },
      cautions: expect.any(Array),
    });
  });

  it.each([
    [['explain', 'dappo'], /'dappo' is no preset, no run, and no file\. The nearest preset is dapo\./],
    [['explain', 'dapo', 'gspo'], /takes one preset, or --config FILE/],
    [['explain', 'model=m'], /grpo explain does not read model/],
    [['explain', 'nothing.yaml'], /cannot read nothing\.yaml/],
    [['diff', 'dapo'], /needs two presets, files or runs/],
  ])('%j is refused', async (argv, message) => {
    const { code, err } = await grpo(tempFolder(), ...argv);
    expect(code).toBe(2);
    expect(err).toMatch(message);
  });
});

describe('diff', () => {
  it('compares the settings of two runs, and of a run with a preset', async () => {
    const folder = tempFolder();
    for (const [name, rate] of [
      ['one', '1e-3'],
      ['other', '2e-3'],
    ]) {
      const settings = ['task.data=a.jsonl', 'model=m', `optimizer.learningRate=${rate}`];
      const record = configRecord(resolveConfig({ command: 'train', settings, env: {} }), {
        versions: {},
        engine: {},
        files: {},
      });
      mkdirSync(join(folder, name!));
      writeFileSync(join(folder, name!, 'config.json'), JSON.stringify(record));
    }
    const { code, out } = await grpo(folder, 'diff', 'one', 'other/config.json');
    expect(code).toBe(0);
    expect(out).toMatch(/optimizer\.learningRate\n\s+one\s+0\.001.*\n\s+other\s+0\.002/);
    expect(out).not.toContain('task.data');
    expect((await grpo(folder, 'diff', 'one', 'dapo')).out).toContain('dapo');
  });

  /** Keys on which the early runs contradict one another and TRL, with the value of each. */
  it.each<[key: string, values: Record<string, unknown>]>([
    [
      'optimizer.learningRate',
      {
        argen: 3.2e-6,
        'rookworld-manual': 1e-6,
        'rookworld-head': 1e-7,
        'grpo-dual': 3e-6,
        quick: 1e-5,
        cs336: 1e-5,
        'trl-1': 1e-6,
      },
    ],
    [
      'kl.beta',
      {
        argen: 0.1,
        'rookworld-manual': 0.1,
        'rookworld-head': 0.005,
        'grpo-dual': 0.05,
        quick: 0.1,
        cs336: 0,
        'trl-0.17': 0.04,
        'trl-1': 0,
      },
    ],
    [
      'kl.control',
      { argen: 'fixed', 'rookworld-head': 'adaptive', 'grpo-dual': 'lagrangian', cs336: undefined },
    ],
    [
      'kl.estimator',
      {
        argen: 'k3',
        'rookworld-manual': 'k1',
        'rookworld-head': 'full',
        'grpo-dual': 'k3',
        quick: 'k1',
        cs336: undefined,
      },
    ],
    [
      'kl.level',
      {
        argen: 'token',
        'rookworld-manual': 'sequence_mean',
        'grpo-dual': 'sequence_mean',
        quick: 'sequence_sum',
      },
    ],
    ['advantage.epsilon', { argen: 1e-4, 'rookworld-manual': 1e-4, cs336: 1e-6, quick: undefined }],
    ['advantage.clip', { 'rookworld-head': 2, 'grpo-dual': 5, cs336: undefined }],
    ['advantage.whiten', { quick: true, argen: false }],
    ['advantage.flatBelow', { 'grpo-dual': 0.01, cs336: 0 }],
    [
      'objective.policy',
      {
        argen: 'clip',
        'rookworld-manual': 'reinforce',
        'grpo-dual': 'clip',
        quick: 'reinforce',
        cs336: 'reinforce',
        'cs336-offpolicy': 'clip',
      },
    ],
    ['objective.clipLow', { argen: 0.2, 'grpo-dual': 0.1, 'cs336-offpolicy': 0.2, quick: undefined }],
    ['objective.ratio', { argen: 'token', 'grpo-dual': 'sequence' }],
    [
      'objective.aggregation',
      {
        'trl-0.17': 'micro_token_mean',
        'rookworld-manual': 'sequence_mean',
        quick: 'sum',
        'trl-1': 'token_mean',
      },
    ],
    ['rollout.temperature', { argen: 0.9, 'rookworld-manual': 0.5, 'grpo-dual': 0.75, quick: 0.8, cs336: 1 }],
    ['rollout.topP', { argen: 1, 'rookworld-manual': 0.9, 'grpo-dual': 0.9, quick: 0.95, cs336: 1 }],
    [
      'entropy.coefficient',
      { argen: 0, 'rookworld-manual': 0, 'rookworld-head': 0.005, 'grpo-dual': 0.2, quick: 0 },
    ],
  ])('answers with %s', (key, values) => {
    for (const [name, value] of Object.entries(values)) expect(valueIn(name, key), name).toEqual(value);
    const [a, ...others] = Object.keys(values);
    for (const b of others) {
      const found = diff(a!, b).settings.find((one) => one.key === key);
      if (values[a!] === values[b]) expect(found).toBeUndefined();
      else expect([found?.a?.value, found?.b?.value]).toEqual([values[a!], values[b]]);
    }
  });

  it('and explain answer what is no setting', () => {
    for (const name of ['argen', 'quick']) {
      const { reading, unsupported } = explain(askedBy(name));
      const text = [...reading, ...unsupported.flatMap(({ what, why }) => [what, why])].join(' ');
      expect(text).toMatch(/may have either sign/);
      expect(text).toMatch(/whether the pad token is the end token/);
      expect(text).toMatch(/no failure becomes a number/);
    }
    expect(explain(askedBy('trl-1')).reading.join(' ')).toMatch(
      /L is about 0 in value: .* gradient is not 0/,
    );
    expect(explain(askedBy('argen')).unsupported.map(({ what }) => what)).toContain(
      'a reward of 0.5 for what is no text',
    );
  });

  it('shows formulas side by side, both values with sources, and what they mean', () => {
    const page = diffPage(diff('trl-1', 'dapo'), 80);
    expect(page).toContain('clip(rᵢₜ, 0.8, 1.2) Aᵢ)');
    expect(page).toContain('clip(rᵢₜ, 0.8, 1.28) Aᵢ)');
    const at = page.indexOf('  objective.clipHigh');
    expect(page.slice(at, page.indexOf('\n  objective.', at + 5))).toMatchInlineSnapshot(`
      "  objective.clipHigh
          trl-1  0.2  [default (objective.clipLow)]
          dapo   0.28  [DAPO (Yu et al., 2025), section 4.1]
                 More in dapo. The ratio is clipped at 1 + clipHigh: more lets rare
                 tokens grow. objective.clipLow when not given."
    `);
    expect(page).not.toContain('objective.loss\n');
  });

  it('of the same is empty', async () => {
    expect(diffPage(diff('dapo', 'dapo'), 80)).toBe('dapo and dapo train alike.\n');
    const json = JSON.parse((await grpo(tempFolder(), 'diff', 'defaults', 'defaults', '--json')).out);
    expect(json).toMatchObject({ a: 'defaults', formula: [], settings: [] });
  });
});
