import { expect, it } from 'vitest';
import { estimate, type Training } from './estimate.js';
import { holdingsOf } from './holdings.js';
import { engine, config as model } from './lots.test.helper.js';

const training: Training = {
  ...{ prompts: 2, group: 4, shared: 100, own: 50, scored: 50, microBatchTokens: 600 },
  backward: { reaches: 'weights', recomputes: false },
  kinds: 1,
};
const { gradients } = holdingsOf(model, engine.size, 'weights', undefined);

/** Bytes of gradients, activations and the gradients of kinds. */
function partsOf(change: Partial<Training>) {
  const work = { model, engine, compiles: false, trained: 'weights' as const, rewardModels: 0 };
  const { phases } = estimate({ ...work, training: { ...training, ...change } }, 64e9);
  const bytes = (name: string) => phases[0]!.parts.find((part) => part.name === name)?.bytes ?? 0;
  return [bytes('gradients'), bytes('activations'), bytes('gradients of kinds')] as const;
}

it('counts gradients beside activations where an update has several passes', () => {
  const [held, activations] = partsOf({ microBatchTokens: 300 });
  expect(held).toBe(gradients);
  expect(activations).toBeGreaterThan(0);
});

it('counts the larger of both where it has one: the ones come as the others go', () => {
  const [many, few] = [partsOf({}), partsOf({ group: 1, shared: 1, own: 2, scored: 1 })];
  expect(many[1]).toBeGreaterThan(gradients);
  expect(many[0]).toBe(0);
  expect(few[0] + few[1]).toBe(gradients);
});

it('counts a copy of the gradients for each kind but the first, where kinds are compared', () => {
  expect([partsOf({})[2], partsOf({ kinds: 3 })[2]]).toEqual([0, 2 * gradients]);
});
