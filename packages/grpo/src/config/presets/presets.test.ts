import { describe, expect, it } from 'vitest';
import { findKey } from '../keys.js';
import { resolveConfig } from '../resolve.js';
import { inertBecause } from '../rules/inert.js';
import { PRESET_NAMES, type Preset, presets } from './index.js';

const all = Object.entries<Preset>(presets);

/** Resolves a preset, with settings over it. */
const resolved = (preset: string, ...settings: string[]) =>
  resolveConfig({ command: 'explain', settings: [`preset=${preset}`, ...settings], env: {} });

describe('presets', () => {
  it('are those that were promised', () => {
    expect(PRESET_NAMES).toEqual([
      ...[
        'argen',
        'rookworld-manual',
        'rookworld-head',
        'rookworld-a',
        'grpo-dual',
        'cs336',
        'cs336-offpolicy',
      ],
      ...['trl-0.17', 'trl-1', 'r1', 'dapo', 'dr-grpo', 'gspo', 'cispo', 'rloo'],
      ...['dppo', 'maxrl', 'icepop', 'kpop', 'verl-k3', 'prime-rl'],
      ...['diffu-grpo', 'coupled-grpo', 'seed-003', 'quick', 'distill'],
    ]);
  });

  it.each(all)('%s resolves, each value with its source, and none without effect', (name, preset) => {
    const { config, provenance } = resolved(name);
    // Of a KL a preset may say how it is, should there be one.
    const withKl = config.kl.beta > 0 ? config : resolved(name, 'kl.beta=0.1').config;
    for (const [path, { value, source }] of Object.entries(preset.values)) {
      expect(findKey(path), path).toBeDefined();
      expect(provenance[path]).toBe(`preset ${name} (${source})`);
      const [section, key] = path.split('.') as [keyof typeof config, string?];
      const got = key === undefined ? config[section] : (config[section] as Record<string, unknown>)[key];
      expect(got, path).toEqual(value);
      const beside = path.startsWith('kl.') ? withKl : config;
      // A recipe scores as it does whether it truncates or not.
      if (path === 'rollout.keepSupport') continue;
      if (value !== findKey(path)?.default) expect(inertBecause(path, beside), path).toBeUndefined();
    }
  });

  it.each(all)('%s names sources and reasons that say something', (_, { values, unsupported, summary }) => {
    expect(summary).toMatch(/^[A-Z].{20,}[^.]$/);
    for (const { source } of Object.values(values)) {
      expect(source).toMatch(
        /^(TRL|DeepSeek|DAPO|Dr\. GRPO|GSPO|MiniMax|ScaleRL|RLOO|CS336|argen|rookworld|grpo-dual|nano_gpt|d1|DiffuCoder|DPPO|MaxRL|IcePop|KPop|verl|prime-rl|GKD|Thinking Machines)/,
      );
      expect(source).not.toMatch(/seed \d|spec\//);
    }
    for (const { what, why } of unsupported) expect(Math.min(what.length, why.length)).toBeGreaterThan(2);
  });

  it('have nothing of the task and the machine', () => {
    const paths = all.flatMap(([, { values }]) => Object.keys(values));
    expect(paths.filter((path) => /^(model|output|device|threads|rewards|task\.)/.test(path))).toEqual([]);
  });
});

describe('the layer of a preset', () => {
  it('lies over the defaults and under everything that is given', () => {
    const { config, provenance } = resolved('dapo', 'objective.clipHigh=0.3');
    expect(config.objective).toMatchObject({ clipLow: 0.2, clipHigh: 0.3, maskTruncated: true });
    expect(provenance).toMatchObject({
      preset: 'command line',
      'objective.clipHigh': 'command line',
      'rollout.group': 'preset dapo (DAPO (Yu et al., 2025), section 4.1)',
      'objective.policy': 'default (objective.loss=dapo)',
      'rollout.topP': 'default',
    });
  });

  it('is no reason to refuse what makes its values idle', () => {
    expect(resolved('dapo', 'objective.loss=reinforce_sum').config.objective.policy).toBe('reinforce');
    expect(() => resolved('dapo', 'objective.loss=reinforce_sum', 'objective.clipHigh=0.3')).toThrow(
      /objective\.clipHigh has no effect: policy=reinforce does not clip/,
    );
  });

  it('of an unknown name is refused with the names', () => {
    expect(() => resolved('dappo')).toThrow(/preset: expected argen \| .*, found 'dappo' \(command line\)/s);
  });
});
