import { expect, it } from 'vitest';
import { producerOf } from './index.js';
import { verl } from './verl.js';

it('is told by what it logs in every run, not by an actor alone', () => {
  const nameOf = (...names: string[]) => producerOf(new Set(names)).name;
  expect(nameOf('critic/score/mean', 'actor/lr', 'response_length/mean')).toBe('verl');
  expect(nameOf('actor/pg_loss', 'actor/grad_norm')).toBe('verl');
  expect(nameOf('actor/weights_version', 'actor/lr', 'learner/loss', 'reward/mean')).toBe('unknown');
});

it('tells advantages that are the rewards by their extremes, where rewards differ', () => {
  const derived = (least: number, most: number, lowest: number, highest: number) => {
    const values: Record<string, number> = {
      'critic/rewards/min': least,
      'critic/rewards/max': most,
      'advantages/min': lowest,
      'advantages/max': highest,
    };
    verl.derive!(values);
    return values['advantages/raw'];
  };
  expect(derived(-0.3, 0.5, -0.30001, 0.499998)).toBe(1);
  expect(derived(0, 1, -0.9, 1)).toBe(0);
  expect(derived(1, 1, 1, 1)).toBeUndefined();
});
