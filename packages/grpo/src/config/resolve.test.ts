import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { UsageError } from '../errors/user-error.js';
import { sharedFolder } from '../formats/temp-folder.test.helper.js';
import { keys } from './keys.js';
import { objectLayer } from './layers/layer.js';
import { type ConfigSources, resolveConfig } from './resolve.js';

const folder = sharedFolder();

/** Writes a YAML file; returns its path. */
function yaml(text: string): string {
  const path = join(folder, 'run.yaml');
  writeFileSync(path, text);
  return path;
}

const MINIMAL = ['task.name=arithmetic'];

function failure(sources: Partial<ConfigSources>): string {
  try {
    resolveConfig({ command: 'train', settings: MINIMAL, ...sources });
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return (error as UsageError).message.replaceAll(folder, '');
  }
  throw new Error('expected a UsageError');
}

describe('layers', () => {
  it('lets the command line win over the file, the file over a preset, the preset over defaults', () => {
    const file = yaml('# a comment\nrollout:\n  group: 4\n  prompts: 2\nseed: 3\n');
    const preset = objectLayer('preset demo', { rollout: { prompts: 6, maxNewTokens: 32 }, seed: 9 });
    const { config, provenance } = resolveConfig({
      command: 'train',
      layers: [preset],
      file,
      settings: [...MINIMAL, 'rollout.group=16'],
    });
    expect(config.rollout).toMatchObject({ group: 16, prompts: 2, maxNewTokens: 32, topP: 1 });
    expect(config.seed).toBe(3);
    expect(provenance).toMatchObject({
      'rollout.group': 'command line',
      'rollout.prompts': `${file}:4`,
      'rollout.maxNewTokens': 'preset demo',
      'rollout.topP': 'default',
      seed: `${file}:5`,
    });
    expect(Object.keys(provenance)).toEqual(keys.map((key) => key.path));
  });

  it('takes the last of two settings of one key', () => {
    expect(resolveConfig({ command: 'train', settings: [...MINIMAL, 'seed=1', 'seed=2'] }).config.seed).toBe(
      2,
    );
  });

  it('keeps explicit 0, false and empty text', () => {
    const file = yaml('optimizer: {maxGradNorm: 0}\neval: {before: false}\n');
    const { config } = resolveConfig({
      command: 'train',
      file,
      settings: ['task.data=a.jsonl', 'model=m', 'task.system=', 'eval.samples=0', 'objective.clipLow=0'],
    });
    expect(config.optimizer.maxGradNorm).toBe(0);
    expect(config.eval).toMatchObject({ before: false, samples: 0 });
    expect(config.task.system).toBe('');
    expect(config.objective.clipLow).toBe(0);
  });

  it('reads command-line values by the type of their key', () => {
    const settings = [
      ...MINIMAL,
      'optimizer.learningRate=3e-5',
      'eval.before=false',
      'output=007',
      'task.stop=["</answer>", "a: b"]',
      'rewards=[{module: ./r.ts, weight: 0}]',
    ];
    const { config } = resolveConfig({ command: 'train', settings });
    expect(config.optimizer.learningRate).toBe(3e-5);
    expect(config.eval.before).toBe(false);
    expect(config.output).toBe('007');
    expect(config.task.stop).toEqual(['</answer>', 'a: b']);
    expect(config.rewards).toEqual([{ module: './r.ts', weight: 0 }]);
  });

  it('accepts an empty file and a section without keys', () => {
    expect(resolveConfig({ command: 'train', file: yaml(''), settings: MINIMAL }).config.seed).toBe(0);
    const file = yaml('rollout:\n  # group: 4\nseed: 1\n');
    expect(resolveConfig({ command: 'train', file, settings: MINIMAL }).config.rollout.group).toBe(8);
  });

  it('names a run folder that is not there yet', () => {
    const from = process.cwd();
    process.chdir(folder);
    try {
      const options = { command: 'train', settings: MINIMAL, now: new Date(2031, 0, 2, 3, 4, 5) } as const;
      const outputs = Array.from({ length: 3 }, () => {
        const { output } = resolveConfig(options).config;
        mkdirSync(output, { recursive: true });
        return output;
      });
      const first = 'runs/arithmetic-20310102-030405';
      expect(outputs).toEqual([first, `${first}-2`, `${first}-3`]);
    } finally {
      process.chdir(from);
    }
  });

  it('fills in what follows from other keys, and says from which', () => {
    const { config, provenance } = resolveConfig({
      command: 'train',
      settings: ['task.data=a.jsonl', 'model=m', 'objective.clipLow=0.3', 'lora.rank=4'],
      now: new Date(2031, 0, 2, 3, 4, 5),
    });
    expect(config.task.name).toBe('jsonl');
    expect(config.objective.clipHigh).toBe(0.3);
    expect(config.output).toBe('runs/jsonl-20310102-030405');
    expect(provenance['objective.clipHigh']).toBe('default (objective.clipLow)');
    expect(provenance['task.name']).toBe('default (task.data)');
    expect(config.lora.alpha).toBe(8);
    expect(provenance['lora.alpha']).toBe('default (lora.rank)');
  });
});

describe('problems', () => {
  it.each([
    ['rolout.group=4', 'rollout.group'],
    ['rolout=4', 'rollout'],
    ['training=4', 'train'],
    ['max_new_tokens=4', 'rollout.maxNewTokens'],
    ['temprature=1', 'rollout.temperature'],
    ['optimiser.learning_rate=1', 'optimizer.learningRate'],
    ['Seed=1', 'seed'],
    ['num_generations=8', 'rollout.group'],
    ['data.train_files=a', 'task.data'],
    ['actor_rollout_ref.rollout.n=8', 'rollout.group'],
    ['optimizer.lr=1', 'optimizer.learningRate'],
    ['epochs=1', 'train.steps'],
  ])('names the key nearest to %s', (setting, nearest) => {
    const [written] = setting.split('=');
    expect(failure({ settings: [...MINIMAL, setting] })).toBe(
      `Unknown key ${written} (command line). The nearest known key is ${nearest}.`,
    );
  });

  it('says where in the file an unknown key is, inside lists too', () => {
    expect(failure({ file: yaml('seed: 1\nrollout:\n  group: 4\n  topp: 1\n') })).toBe(
      'Unknown key rollout.topp (/run.yaml:4). The nearest known key is rollout.topP.',
    );
    expect(failure({ file: yaml('rewards:\n  - module: a.ts\n  - module: b.ts\n    wieght: 1\n') })).toBe(
      'Unknown key rewards.1.wieght (/run.yaml:4). The nearest known key is weight.',
    );
  });

  it('names the nearest key of any kind of item', () => {
    expect(failure({ settings: [...MINIMAL, 'sinks=[{webhook: HOOK, formt: slack}]'] })).toBe(
      'Unknown key sinks.0.formt (command line). The nearest known key is format.',
    );
  });

  it.each(['https://ann:KEY@here/KEY?key=KEY', 'http://ann:KEY@here', 'https://here?KEY'])(
    'shows no keys of an address in a wrong place: %s',
    (address) => {
      for (const setting of [`sinks=${address}`, `sinks=["${address}"]`, `sinks={webhook: "${address}"}`]) {
        const message = failure({ settings: [...MINIMAL, setting] });
        expect(message).toMatch(/found .*https?:\/\/here/);
        expect(message).not.toMatch(/KEY/);
      }
    },
  );

  it('names key, expected type, found value and place', () => {
    expect(failure({ file: yaml('seed: 1\nrollout:\n  group: many\n') })).toMatch(
      /^rollout\.group: expected a whole number >= 2, found 'many' \(\/run\.yaml:3\)\.\n {2}Completions of each prompt/,
    );
    expect(failure({ settings: [...MINIMAL, 'rollout.topP=1.5'] })).toMatch(
      /^rollout\.topP: expected a number > 0 and <= 1, found 1\.5 \(command line\)\./,
    );
    expect(failure({ settings: [...MINIMAL, 'device=gpu'] })).toMatch(
      /^device: expected auto \| cpu \| cuda \| mps, found 'gpu' \(command line\)\./,
    );
    expect(failure({ settings: [...MINIMAL, 'eval.before=yes'] })).toMatch(
      /expected true \| false, found 'yes'/,
    );
    expect(failure({ settings: [...MINIMAL, 'seed='] })).toMatch(
      /^seed: expected a whole number >= 0, found ''/,
    );
    expect(failure({ settings: [...MINIMAL, 'task.stop=</answer>'] })).toMatch(
      /expected a list of text, found '<\/answer>'/,
    );
    expect(failure({ file: yaml('task:\n  questionKey: 1\n') })).toMatch(
      /^task\.questionKey: expected text that is not empty, found 1 \(\/run\.yaml:2\)/,
    );
    expect(
      failure({ file: yaml('rewards:\n  - module: a.ts\n    weight: 1\n  - module: b.ts\n    weight: x\n') }),
    ).toMatch(/^rewards\.1\.weight: expected a number, found 'x' \(\/run\.yaml:5\)/);
    expect(failure({ file: yaml('rewards:\n  - weight: 1\n'), settings: MINIMAL })).toMatch(
      /^rewards \(\/run\.yaml:1\): rewards\.0 takes one of module, builtin, model and judge, and has none\./,
    );
  });

  it('refuses numbers that are not finite', () => {
    expect(failure({ settings: [...MINIMAL, 'optimizer.learningRate=.nan'] })).toMatch(/found NaN/);
    expect(failure({ settings: [...MINIMAL, 'kl.beta=.inf'] })).toMatch(/found Infinity/);
  });

  it('lists several problems at once', () => {
    const message = failure({ file: yaml('sed: 1\nrollout: {group: 1}\n'), settings: ['dtype=int8'] });
    expect(message).toMatch(/^3 problems in the configuration:\n/);
    expect(message).toContain('Unknown key sed (/run.yaml:1)');
    expect(message).toContain('found 1 (/run.yaml:2)');
    expect(message).toContain("found 'int8' (command line)");
  });

  it('tells a section from a value', () => {
    expect(failure({ settings: ['rollout=4'] })).toMatch(
      /^rollout \(command line\) is a section with the keys prompts, group,/,
    );
    expect(failure({ file: yaml('rollout: 4\n') })).toMatch(/^rollout \(\/run\.yaml:1\) is a section/);
    expect(failure({ file: yaml('rollout.group: 4\n') })).toMatch(/Write rollout: \{ group: … \}\.$/);
  });

  it('reports files that cannot be read, or are not YAML, with the line', () => {
    expect(failure({ file: join(folder, 'absent.yaml') })).toBe(
      'cannot read /absent.yaml: there is no such file (ENOENT)',
    );
    expect(failure({ file: yaml('seed: 1\nrollout: {group: 4\n') })).toMatch(
      /^\/run\.yaml:\d+: not valid YAML\. /,
    );
    expect(failure({ file: yaml('seed: 1\nseed: 2\n') })).toMatch(
      /^\/run\.yaml:2: not valid YAML\. Map keys must be unique/,
    );
    expect(failure({ file: yaml('- seed\n') })).toBe(
      "/run.yaml:1: expected keys with values, such as 'seed: 1'.",
    );
  });

  it('refuses settings that the command does not read, on the command line only', () => {
    expect(failure({ command: 'sft', settings: [...MINIMAL, 'optimizer.learningRate=1'] })).toBe(
      'grpo sft does not read optimizer.learningRate (command line). The nearest key that it reads is sft.learningRate.',
    );
    const file = yaml('optimizer: {learningRate: 1.0e-6}\ntrain: {steps: 3}\n');
    expect(resolveConfig({ command: 'sft', file, settings: MINIMAL }).config.train.steps).toBe(3);
  });
});
