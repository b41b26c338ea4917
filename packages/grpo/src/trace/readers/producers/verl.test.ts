import { expect, it } from 'vitest';
import { producerOf } from './index.js';

it('is told by what it logs in every run, not by an actor alone', () => {
  const nameOf = (...names: string[]) => producerOf(new Set(names)).name;
  expect(nameOf('critic/score/mean', 'actor/lr', 'response_length/mean')).toBe('verl');
  expect(nameOf('actor/pg_loss', 'actor/grad_norm')).toBe('verl');
  expect(nameOf('actor/weights_version', 'actor/lr', 'learner/loss', 'reward/mean')).toBe('unknown');
});
