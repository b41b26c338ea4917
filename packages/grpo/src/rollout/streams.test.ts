import { describe, expect, it } from 'vitest';
import { plainSampling } from './completion.js';
import type { GroupRequest } from './completion-requests.js';
import { expectedOf, fixture, range } from './rollout.test.helper.js';
import { sample } from './sampler.js';

// About every tenth token ends a completion, so rows leave all the time.
const model = fixture('qwen3', range(26));
const { prompts } = expectedOf('qwen3');
const options = { ...plainSampling, maxNewTokens: 40 };
const STEP = 3;
const request = (prompt: number, count = 6, step = STEP): GroupRequest => {
  return { ids: prompts[prompt]!, count, keys: [step, prompt] };
};
const all = range(4).map((i) => request(i));

/** Ids of each completion, one list per group. */
async function idsOf(requests: GroupRequest[], change: { lotBytes?: number; seed?: number } = {}) {
  const { seed = 1, lotBytes = options.lotBytes } = change;
  const groups = await sample(model, requests, { ...options, lotBytes }, seed);
  return groups.map((group) => group.map((c) => c.ids));
}

describe('a completion', async () => {
  const together = await idsOf(all);

  it('differs from most of its group, and ends at a time of its own', () => {
    for (const group of together) {
      expect(new Set(group.map(String)).size).toBeGreaterThan(3);
      expect(new Set(group.map((ids) => ids.length)).size).toBeGreaterThan(2);
    }
  });

  it('is the same for the same seed', async () => {
    expect(await idsOf(all)).toEqual(together);
  });

  it('is the same alone, whatever its group', async () => {
    for (const i of range(4)) expect(await idsOf([request(i)])).toEqual([together[i]]);
  });

  it('is the same with the prompts in another order', async () => {
    expect(await idsOf([...all].reverse())).toEqual([...together].reverse());
  });

  it.each([0, 1e5, 4e5])('is the same in lots of %d bytes', async (lotBytes) => {
    expect(await idsOf(all, { lotBytes })).toEqual(together);
  });

  it('is the same in a smaller and in a larger group', async () => {
    expect(await idsOf([request(2, 2), request(3, 1)])).toEqual([
      together[2]!.slice(0, 2),
      together[3]!.slice(0, 1),
    ]);
    const larger = await idsOf([request(1, 11)]);
    expect(larger[0]!.slice(0, 6)).toEqual(together[1]);
  });

  it.each([
    ['seed', () => idsOf(all, { seed: 2 })],
    ['step', () => idsOf(range(4).map((i) => request(i, 6, STEP + 1)))],
    ['key of the prompt', () => idsOf(all.map((r, i) => ({ ...r, keys: [STEP, i + 4] })))],
  ])('is another for another %s', async (_, sampleAgain) => {
    const others = await sampleAgain();
    for (const [i, group] of others.entries()) {
      for (const [j, ids] of group.entries()) expect(ids).not.toEqual(together[i]![j]);
    }
  });

  it('is drawn at a temperature of its own as where all have that one', async () => {
    const temperatures = [1, 0, 0.5, 1, 0, 2];
    const mixed = await idsOf(all.map((one) => ({ ...one, temperatures })));
    for (const temperature of new Set(temperatures)) {
      const equal = await idsOf(all.map((one) => ({ ...one, temperatures: Array(6).fill(temperature) })));
      for (const i of range(6).filter((index) => temperatures[index] === temperature))
        expect(mixed.map((group) => group[i])).toEqual(equal.map((group) => group[i]));
    }
    expect(mixed.map((group) => group[0])).toEqual(together.map((group) => group[0]));
    expect(mixed.map((group) => group[1])).toEqual(mixed.map((group) => group[4]));
    expect(mixed.map((group) => group[5])).not.toEqual(together.map((group) => group[5]));
  });

  it('has a place in its group also when none or no group is wanted', async () => {
    expect(await idsOf([])).toEqual([]);
    expect(await idsOf([request(0, 0), request(1)])).toEqual([[], together[1]]);
  });
});
