import { afterAll, expect, it, vi } from 'vitest';
import { disposePolicies } from '../../lab/lab-policy.js';
import { disagreements } from '../audit.test.helper.js';

const planted = vi.hoisted(() => ({ isMisgiven: false }));

// The step itself calls its own; only the audit's micro-batches are given other advantages.
vi.mock('../../step/accumulate-gradients.js', async (original) => {
  const real = await original<typeof import('../../step/accumulate-gradients.js')>();
  const learn: typeof real.learn = (trainer, batch, ...others) => {
    const advantages = { ...batch.advantages, advantages: batch.advantages.advantages.map((a) => -a) };
    const other = Object.create(batch, { advantages: { value: advantages } }) as typeof batch;
    real.learn(trainer, planted.isMisgiven ? other : batch, ...others);
  };
  return { ...real, learn };
});

afterAll(disposePolicies);

it('tells advantages that only a later micro-batch of the audit is given wrongly', async () => {
  expect(await disagreements('loss', {})).toEqual([]);
  planted.isMisgiven = true;
  expect(await disagreements('loss', {})).toContain('advantage in the loss');
});
