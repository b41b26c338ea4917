import { describe, expect, it } from 'vitest';
import { FlatGroupsWatch, RefillWatch } from './flat-groups.js';

const row = (frac_reward_zero_std: number) => ({
  step: 1,
  step_tokens: 1,
  reward: 0.1,
  frac_reward_zero_std,
  'completions/clipped_ratio': 0.75,
});

it('speaks once for each stretch of three steps without signal', () => {
  const watch = new FlatGroupsWatch();
  const said = [1, 1, 0.9, 1, 1, 1, 1, 1, 0, 1, 1, 1].map((share) => watch.after(row(share)));
  expect(said.flatMap((text, i) => (text === undefined ? [] : [i]))).toEqual([5, 11]);
  expect(said[5]).toContain('The mean reward is 0.100, and 75% of the completions are cut');
});

it('says where no completion has a reward', () => {
  const watch = new FlatGroupsWatch();
  const said = [1, 1, 1].map((share) => watch.after({ ...row(share), reward: Number.NaN }));
  expect(said[2]).toContain('No completion has a reward, and 75% of the completions are cut');
});

describe('groups in the place of flat ones', () => {
  const row = (step: number, counts: Record<string, number>) => ({
    step,
    step_tokens: 0,
    reward: 0,
    frac_reward_zero_std: 1,
    'completions/clipped_ratio': 0,
    ...counts,
  });

  it('are something to learn from', () => {
    const saidOf = (counts: Record<string, number>) => {
      const watch = new FlatGroupsWatch();
      return [1, 2, 3].map((step) => watch.after(row(step, counts))).at(-1);
    };
    expect(saidOf({ groups_refilled: 0, groups_replayed: 0 })).toContain('Nothing to learn from');
    expect(saidOf({ groups_refilled: 1, groups_replayed: 0 })).toBeUndefined();
    expect(saidOf({ groups_refilled: 0, groups_replayed: 1 })).toBeUndefined();
  });

  it('that were not found are told of once', () => {
    const watch = new RefillWatch(3);
    const said = [0, 2, 1].map((flat, i) => watch.after(row(i + 1, { groups_flat: flat })));
    expect(said[0]).toBeUndefined();
    expect(said[1]).toMatch(/^step 2: after groups\.refills=3 rounds of refilling, 2 of the groups still/);
    expect(said[2]).toBeUndefined();
    expect(new RefillWatch(0).after(row(1, { groups_flat: 2 }))).toBeUndefined();
  });
});
