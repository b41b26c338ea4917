import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../../config/index.js';
import { configurationsOf } from './configurations.js';

describe('the drawn configurations', () => {
  const drawn = Array.from({ length: 30 }, (_, seed) => configurationsOf(seed)).flat();

  it('can all be run', () => {
    for (const { settings } of drawn)
      resolveConfig({
        command: 'train',
        env: {},
        code: { task: 'letters', rewards: [{ name: 'right', weight: 1 }] },
        settings: [...settings, 'model=m', 'output=o'],
      });
    expect(drawn).toHaveLength(360);
  });

  it('of a seed have every feature, and differ between seeds', () => {
    const [first, second] = [0, 1].map((seed) =>
      configurationsOf(seed).map(({ settings }) => settings.join(' ')),
    );
    for (const part of ['kl.beta', 'lora.rank', 'iterations=2', 'topP', 'cosine', 'replay', 'loss=dr_grpo'])
      expect(first!.some((settings) => settings.includes(part))).toBe(true);
    expect(configurationsOf(0).filter(({ resumeAfter }) => resumeAfter > 0)).toHaveLength(6);
    expect(second).not.toEqual(first);
  });
});
