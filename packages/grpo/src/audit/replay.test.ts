import { afterAll, expect, it } from 'vitest';
import { disposePolicies } from '../lab/lab-policy.js';
import type { LabRun } from '../lab/lab-run.js';
import { sum } from '../maths/moments.js';
import type { Batch, StoredGroup } from '../step/batch.js';
import { ReplayStore } from '../step/replay-store.js';
import { comparisonsOf, disagreements } from './audit.test.helper.js';
import { declaredDraw } from './order/declared-draw.js';

afterAll(disposePolicies);

const SIZE = 5;

const replaying = (replay?: ReplayStore): LabRun => ({
  steps: 5,
  settings: [`groups.replay=${SIZE}`, 'advantage.flatBelow=0.4', 'objective.oldLogprobs=sampler'],
  ...(replay && { plant: () => ({ replay }) }),
});

class OtherSeed extends ReplayStore {
  override draw(count: number, seed: number, step: number): StoredGroup[] {
    return super.draw(count, seed + 1, step);
  }
}

class Forgetful extends ReplayStore {
  override done(batch: Batch, step: number): void {
    if (step !== 1) super.done(batch, step);
  }
}

/** Gives a stored group the prompt of its neighbour. */
class OtherPrompt extends ReplayStore {
  override draw(count: number, seed: number, step: number): StoredGroup[] {
    return super.draw(count, seed, step).map((one) => {
      const other = this.groups.find(({ group }) => group.prompts[0] !== one.group.prompts[0]);
      const prompts = (other ?? one).group.prompts;
      return { ...one, group: Object.create(one.group, { prompts: { value: prompts } }) as Batch };
    });
  }
}

/** Draws each group of a step from the whole store, by its number of the seed. */
class PutsBack extends ReplayStore {
  override draw(count: number, seed: number, step: number): StoredGroup[] {
    const all = this.groups;
    const total = sum(all.map(({ score }) => score));
    return Array.from({ length: Math.min(count, all.length) }, (_, i) => {
      let rest = declaredDraw(seed, step, -2, i) * total;
      return all.find(({ score }) => {
        rest -= score;
        return rest < 0;
      })!;
    });
  }
}

it('a group that is drawn twice is explained', async () => {
  const quantity = 'stored group that is replayed';
  const run = { ...replaying(new PutsBack(SIZE)), steps: 12 };
  const off = (await comparisonsOf(run)).find((one) => one.quantity === quantity && one.deviation > 0);
  expect(off?.explained).toBe('draws that put each group back before the next');
});

it('groups are replayed and stored as declared', async () => {
  expect(await disagreements('choice', replaying())).toEqual([]);
});

it.each([
  ['draws of another seed', new OtherSeed(SIZE), 'stored group that is replayed'],
  ['prompts of other groups', new OtherPrompt(SIZE), 'ids of the prompt of a replayed group'],
  ['a store that is too small', new ReplayStore(2), 'steps of the stored groups'],
  ['a step that is not stored', new Forgetful(SIZE), 'steps of the stored groups'],
])('%s are found', async (_, replay, quantity) => {
  expect(await disagreements('choice', replaying(replay))).toContain(quantity);
});
