import { afterAll, expect, it } from 'vitest';
import { disposePolicies } from '../lab/lab-policy.js';
import type { LabRun } from '../lab/lab-run.js';
import type { Batch, StoredGroup } from '../step/batch.js';
import { ReplayStore } from '../step/replay-store.js';
import { disagreements } from './audit.test.helper.js';

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

it('groups are replayed and stored as declared', async () => {
  expect(await disagreements('advantage', replaying())).toEqual([]);
});

it.each([
  ['draws of another seed', new OtherSeed(SIZE), 'stored group that is replayed'],
  ['prompts of other groups', new OtherPrompt(SIZE), 'ids of the prompt of a replayed group'],
  ['a store that is too small', new ReplayStore(2), 'steps of the stored groups'],
  ['a step that is not stored', new Forgetful(SIZE), 'steps of the stored groups'],
])('%s are found', async (_, replay, quantity) => {
  expect(await disagreements('advantage', replaying(replay))).toContain(quantity);
});
