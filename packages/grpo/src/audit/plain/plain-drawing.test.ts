import { tensor, tidy } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { plainSampling } from '../../rollout/completion.js';
import { adjust, logSoftmax, truncated } from '../../rollout/reference.test.helper.js';
import { drawnOf, type SamplingRules, TEMPERATURES } from './plain-drawing.js';

const plain: SamplingRules = { ...plainSampling, endIds: [], margin: 0 };

/** Each token of the vocabulary as the first one of a completion. */
const drawn = (logits: readonly number[], change: Partial<SamplingRules>) =>
  logits.map((_, id) =>
    tidy(() => drawnOf(tensor([...logits], [1, logits.length]), [id], 0, { ...plain, ...change })[0]!),
  );

const PEAKED = [-0.974, -1.208, -1.116, 1.335, -0.395, 3.886, -2.803, -1.525, 1.262, -1.798, -1.111, 1.381];
const FLAT = [0.134, -0.183, 0.072, 0.141, -0.586, -0.168, 0.129, -0.679, -0.061, 0.32, 0.097, -0.021];

const CHANGES: Partial<SamplingRules>[] = [
  {},
  { temperature: 0.6 },
  { topK: 4 },
  { topP: 0.9 },
  { topP: 0.05 },
  { minP: 0.2 },
  { temperature: 1.5, topK: 8, topP: 0.8, minP: 0.25 },
];

describe('the declared distribution', () => {
  it.each(CHANGES)('is that of transformers, token by token: %o', (change) => {
    for (const logits of [PEAKED, FLAT]) {
      const expected = truncated(logits, { ...plainSampling, ...change });
      for (const [id, { logprob, least, most }] of drawn(logits, change).entries()) {
        if (expected[id] === Number.NEGATIVE_INFINITY) expect(logprob).toBe(expected[id]);
        else expect(logprob).toBeCloseTo(expected[id]!, 5);
        expect([least, most]).toEqual([logprob, logprob]);
      }
    }
  });

  it('has the log-probs at other temperatures, over the tokens that it keeps', () => {
    const change = { topK: 5, temperature: 1.3 };
    const kept = truncated(PEAKED, { ...plainSampling, ...change });
    for (const [k, times] of TEMPERATURES.entries()) {
      const expected = logSoftmax(kept.map((logprob) => logprob / times));
      for (const [id, { tempered }] of drawn(PEAKED, change).entries()) {
        if (kept[id] === Number.NEGATIVE_INFINITY) expect(tempered[k]).toBe(kept[id]);
        else expect(tempered[k]).toBeCloseTo(expected[id]!, 5);
      }
    }
  });

  it('lowers what the completion has already, and holds back its end', () => {
    const rules = { ...plain, repetitionPenalty: 1.3, presencePenalty: 0.2, frequencyPenalty: 0.4 };
    const completion = [5, 5, 0, 3];
    const rows = [...PEAKED, ...PEAKED, ...FLAT, ...FLAT];
    const found = tidy(() =>
      drawnOf(tensor(rows, [4, 12]), completion, 0, { ...rules, endIds: [3], minNewTokens: 4 }),
    );
    for (const t of [0, 1, 2]) {
      const logits = rows.slice(12 * t, 12 * t + 12);
      const changed = adjust(logits, completion.slice(0, t), new Set([3]), { ...plainSampling, ...rules });
      expect(found[t]!.logprob).toBeCloseTo(logSoftmax(changed)[completion[t]!]!, 5);
    }
    expect(found[3]!.logprob).toBe(Number.NEGATIVE_INFINITY);
  });

  it('counts ids that a recorded support has and should not, or lacks', () => {
    const misplacedIn = (support: readonly number[], change: Partial<SamplingRules>) =>
      tidy(
        () =>
          drawnOf(tensor(PEAKED, [1, 12]), [5], 0, { ...plain, topK: 3, ...change }, [support])[0]!.misplaced,
      );
    expect(misplacedIn([3, 5, 11], {})).toBe(0);
    expect(misplacedIn([5, 11], {})).toBe(1);
    expect(misplacedIn([3, 5, 8, 11], {})).toBe(1);
    expect(misplacedIn([0, 5, 11], {})).toBe(2);
    // 3 and 11 are within a twentieth of a nat: either may be the third.
    expect(misplacedIn([5, 11, 8], { margin: 0.1 })).toBe(0);
    expect(misplacedIn([3, 5, 11, 0], { margin: 0.1 })).toBe(1);
  });

  it('begins where the rows begin', () => {
    const rules = { ...plain, presencePenalty: 3 };
    const whole = tidy(() => drawnOf(tensor([...FLAT, ...FLAT], [2, 12]), [9, 9], 0, rules));
    const rest = tidy(() => drawnOf(tensor(FLAT, [1, 12]), [9, 9], 1, rules));
    expect(rest).toEqual([whole[1]]);
    expect(whole[1]!.logprob).toBeLessThan(whole[0]!.logprob - 1);
  });

  it('leaves open what lies at a bound but for rounding', () => {
    const logits = [2, 1, 1.0005, 0];
    const [, second] = drawn(logits, { topK: 2 });
    expect(second).toMatchObject({ logprob: Number.NEGATIVE_INFINITY, most: Number.NEGATIVE_INFINITY });
    const [first, near] = drawn(logits, { topK: 2, margin: 0.01 });
    expect(near!.most).toBeCloseTo(1 - Math.log(Math.exp(2)), 2);
    expect(first!.least).toBeCloseTo(truncated(logits, { ...plainSampling, topK: 3 })[0]!, 3);
    expect(first!.most).toBeGreaterThan(first!.logprob);
  });

  it('at temperature 0 is the likeliest token alone', () => {
    const all = drawn(PEAKED, { temperature: 0 });
    expect(all.map(({ logprob }) => logprob)).toEqual(
      PEAKED.map((_, id) => (id === 5 ? 0 : Number.NEGATIVE_INFINITY)),
    );
  });
});
