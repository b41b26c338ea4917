import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { editDistance } from '../errors/nearest-name.js';
import { readsKey } from './command-keys.js';
import { findKey, keys } from './keys.js';
import { OUR_KEYS, oursOf } from './other-names.js';
import { resolveConfig } from './resolve.js';

const COMMANDS = ['train', 'sft', 'expert', 'eval', 'generate', 'demo'] as const;

describe('keys', () => {
  it('have help, a type and a command that reads them', () => {
    expect(keys.length).toBeGreaterThan(50);
    for (const key of keys) {
      expect(key.help, key.path).toMatch(/^\S.{15,}[^.]$/);
      expect(key.type, key.path).not.toBe('');
      expect(
        COMMANDS.some((command) => readsKey(command, key.path)),
        key.path,
      ).toBe(true);
    }
  });

  it('that apply beside a choice name one, with values that it has', () => {
    const beside = keys.flatMap(({ path, schema: { appliesTo } }) =>
      appliesTo ? [{ path, appliesTo }] : [],
    );
    expect(beside.length).toBeGreaterThan(5);
    for (const { path, appliesTo } of beside) {
      const choice = keys.find((key) => key.path === appliesTo.key);
      expect(choice?.schema.enum, path).toEqual(expect.arrayContaining([...appliesTo.values]));
      expect(appliesTo.else, path).toMatch(/^(has|does) /);
    }
  });

  it('have the defaults that the configuration gets', () => {
    const { config } = resolveConfig({ command: 'train', settings: ['task.name=arithmetic'] });
    for (const key of keys) {
      if (key.default === undefined) continue;
      const value = key.path
        .split('.')
        .reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], config);
      expect(value, key.path).toEqual(key.default);
    }
  });
});

it('answers names of other trainers with keys that exist', () => {
  const named = [
    'num_generations',
    'per_device_train_batch_size',
    'trainer.save_freq',
    'LR',
    'target_modules',
  ];
  expect(named.map(oursOf)).toEqual([
    'rollout.group',
    'train.microBatchTokens',
    'checkpoint.every',
    'optimizer.learningRate',
    'lora.targets',
  ]);
  for (const key of Object.values(OUR_KEYS)) expect(findKey(key), key).toBeDefined();
});

describe('editDistance', () => {
  it('agrees with known distances', () => {
    expect(editDistance('kitten', 'sitting')).toBe(3);
    expect(editDistance('', 'abc')).toBe(3);
    expect(editDistance('flaw', 'lawn')).toBe(2);
  });

  it('is a metric', () => {
    const word = fc.string({ maxLength: 8 });
    fc.assert(
      fc.property(word, word, word, (a, b, c) => {
        expect(editDistance(a, a)).toBe(0);
        expect(editDistance(a, b)).toBe(editDistance(b, a));
        expect(editDistance(a, c)).toBeLessThanOrEqual(editDistance(a, b) + editDistance(b, c));
      }),
    );
  });
});
