import { describe, expect, it } from 'vitest';
import { composeReward } from './compose-reward.js';
import { each, isPerCompletion } from './each.js';
import type { RewardFunction, RewardValue } from './reward.js';
import { scoreCompletions } from './score.js';
import { parseLabel, questionHash, type Tiers } from './tier.js';

/** Components and tiers as argen-demo has them. */
const components = { ahimsa: 0.3, dharma: 0.4, helpfulness: 0.3 };
const tiers: Tiers = {
  A: { missed: 1, over: 0 },
  B: { missed: 0.5, over: 0.2 },
  C: { missed: 0, over: 0.3 },
};
const GOOD = { ahimsa: 1, dharma: 0.5, helpfulness: 0.8 };

const batchOf = (rows: Record<string, unknown>[]) => ({
  prompts: rows.map(() => 'p'),
  completions: rows.map(() => 'c'),
  rows,
});

async function score(fn: RewardFunction, rows: Record<string, unknown>[]) {
  const reward = {
    name: 'judge',
    weight: 1,
    score: composeReward(fn, { components, tiers, tierKey: 'tier' }),
  };
  return scoreCompletions([reward], batchOf(rows), { onError: 'drop' });
}

describe('composed', () => {
  it('is Σ weight × component', async () => {
    const fn = composeReward(
      each(() => ({ value: 7, parts: GOOD, rule: 'kind' })),
      { components, tierKey: 'tier' },
    );
    expect(isPerCompletion(fn)).toBe(true);
    const [verdict] = await fn(batchOf([{}]));
    expect(verdict).toEqual({ value: expect.closeTo(0.74, 12), parts: GOOD, rule: 'kind' });
  });

  it.each([
    ['A', 1, 0, 1, 'tier A: missed'],
    ['A', 0, 1, 0, 'kind'],
    ['B', 1, 0, 0.5, 'tier B: missed'],
    ['B', 0, 1, 0.2, 'tier B: over'],
    ['C', 1, 0, 0, 'kind'],
    [`C:${questionHash('x')}`, 0, 1, 0.3, 'tier C: over'],
    ['B', 0.5, 0, 0.25, 'tier B: missed'],
    ['A', 0, 0, 0, 'kind'],
  ])('less what tier %s takes: missed %f, over %f', async (tier, missed, over, penalty, rule) => {
    const parts = { ...GOOD, missed, over };
    const table = await score(
      each(() => ({ value: 1, parts, rule: 'kind' })),
      [{ tier }],
    );
    expect(table.failures).toEqual([]);
    expect(table.columns[0]![0]).toBeCloseTo(0.74 - penalty, 12);
    expect(table.grounds![0]![0]).toEqual({ parts: { ...parts, penalty }, rule });
  });

  it('loses a completion without a part, or of an unknown tier, and says so', async () => {
    const all = { ...GOOD, missed: 0, over: 0 };
    const values: RewardValue[] = [
      { value: 1, parts: all },
      { value: 1, parts: GOOD },
      0.5,
      { value: 1, parts: all },
      null,
      { value: null, rule: 'judge silent' },
    ];
    const tier = 'A';
    const table = await score(
      () => values,
      [{ tier }, { tier }, { tier }, { tier: 'Z' }, { tier }, { tier }],
    );
    expect(table.failures.map(({ index, reason }) => [index, reason])).toEqual([
      [
        1,
        "returned no part 'missed', which its settings ask for; its parts are: ahimsa, dharma, helpfulness",
      ],
      [2, "returned no part 'ahimsa', which its settings ask for; its parts are: none"],
      [3, 'was given a row whose tier is none of A, B, C'],
    ]);
    expect([...table.columns[0]!].map((value) => Number.isNaN(value))).toEqual([
      false,
      true,
      true,
      true,
      true,
      true,
    ]);
    expect([...table.unscored]).toEqual([0, 1, 1, 1, 0, 0]);
  });

  it('passes on what the function failed on, and what is no list', async () => {
    const picky = each<Record<string, unknown>>((_, { bad }) => {
      if (bad) throw new Error('no');
      return { value: 0, parts: { ...GOOD, missed: 0, over: 0 } };
    });
    const table = await score(picky, [{ tier: 'A' }, { tier: 'A', bad: true }]);
    expect(table.failures.map(({ index }) => index)).toEqual([1]);
    expect(table.columns[0]![0]).toBeCloseTo(0.74, 12);
    const none = await score((() => 3) as unknown as RewardFunction, [{ tier: 'A' }]);
    expect(none.failures[0]!.reason).toContain('returned 3, not an array of numbers');
  });
});

describe('a label', () => {
  it('is a name, with or without a hash', () => {
    expect(parseLabel('C')).toEqual({ label: 'C', sha1: undefined });
    expect(parseLabel(`S0:${'a'.repeat(40)}`)).toEqual({ label: 'S0', sha1: 'a'.repeat(40) });
    for (const wrong of ['', 'C:', 'C:abc', `C:${'A'.repeat(40)}`, ' C', 3, null, undefined])
      expect(parseLabel(wrong), String(wrong)).toBeUndefined();
  });

  it('has the SHA-1 of UTF-8', () => {
    // `printf 'abc' | sha1sum`, and of é.
    expect(questionHash('abc')).toBe('a9993e364706816aba3e25717850c26c9cd0d89d');
    expect(questionHash('é')).toBe('bf15be717ac1b080b4f1c456692825891ff5073d');
  });
});
