import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../resolve.js';
import { objectLayer } from './layer.js';

const given = { command: 'train', settings: ['task.name=arithmetic'] } as const;
const layers = [objectLayer('preset', { device: 'cuda' })];

describe('GRPO_DEVICE', () => {
  it('wins over presets and files, and the command line over it', () => {
    const env = { GRPO_DEVICE: 'cpu' };
    const own = resolveConfig({ ...given, layers, env });
    expect([own.config.device, own.provenance.device]).toEqual(['cpu', 'GRPO_DEVICE']);
    const line = resolveConfig({ ...given, layers, env, settings: [...given.settings, 'device=auto'] });
    expect([line.config.device, line.provenance.device]).toEqual(['auto', 'command line']);
  });

  it.each([{}, { GRPO_DEVICE: '' }, { GRPO_OTHER: 'cpu' }])('%o gives nothing', (env) => {
    const { config, provenance } = resolveConfig({ ...given, layers, env });
    expect([config.device, provenance.device]).toEqual(['cuda', 'preset']);
  });

  it('is named when its value is wrong', () => {
    expect(() => resolveConfig({ ...given, env: { GRPO_DEVICE: 'tpu' } })).toThrow(
      "device: expected auto | cpu | cuda | mps, found 'tpu' (GRPO_DEVICE)",
    );
  });
});
