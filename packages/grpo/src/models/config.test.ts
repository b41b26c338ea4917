import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseConfig } from './config.js';

const json = (name: string) =>
  JSON.parse(
    readFileSync(new URL(`../../../../parity/fixtures/models/${name}/config.json`, import.meta.url), 'utf8'),
  ) as Record<string, unknown>;

describe('parseConfig', () => {
  it('reads the spelling of transformers 4 and 5 alike', () => {
    const modern = parseConfig(json('llama3'), 'config.json');
    expect(parseConfig(json('llama3-legacy-config'), 'config.json')).toEqual(modern);
    expect(modern.ropeTheta).toBe(500000);
    expect(modern.ropeScaling).toEqual({
      type: 'llama3',
      factor: 8,
      lowFreqFactor: 1,
      highFreqFactor: 4,
      originalPositions: 64,
    });
  });

  it('reads `rope_theta` where no scaling is given, and scaling under its oldest key', () => {
    const { rope_parameters: _, ...plain } = json('llama3');
    const bare = parseConfig({ ...plain, rope_theta: 1e6, rope_scaling: null }, 'config.json');
    expect([bare.ropeTheta, bare.ropeScaling]).toEqual([1e6, undefined]);
    const old = parseConfig({ ...plain, rope_scaling: { type: 'linear', factor: 2 } }, 'config.json');
    expect([old.ropeTheta, old.ropeScaling]).toEqual([10000, { type: 'linear', factor: 2 }]);
  });

  it('gives Qwen 2 its biases, and Qwen 3 its norms and heads of 128, where the file says nothing', () => {
    const { head_dim: _, ...qwen3 } = json('qwen3');
    expect(parseConfig(qwen3, 'config.json')).toMatchObject({ headDim: 128, qkNorm: true, qkvBias: false });
    expect(parseConfig(json('qwen2'), 'config.json')).toMatchObject({
      headDim: 8,
      qkNorm: false,
      qkvBias: true,
      outputBias: false,
    });
  });
});
