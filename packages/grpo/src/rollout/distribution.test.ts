import { tensor, tidy } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { TokenSets } from '../formats/token-sets.js';
import { uniform } from '../maths/random.js';
import { plainSampling, type SamplingOptions } from './completion.js';
import { type Draw, draw, drawByOperators } from './distribution.js';
import { adjust, logSoftmax, truncated } from './reference.test.helper.js';
import { range } from './rollout.test.helper.js';

const ALMOST_ONE = 1 - 2 ** -53;

type Change = Partial<SamplingOptions>;

const rulesOf = (change: Change, uniform: number, generated: number[] = [], mayEnd = true) => ({
  options: { ...plainSampling, ...change },
  ...{ uniform, generated, mayEnd },
});

/** One draw a uniform, all from the same logits; those of `hidden` tokens cannot be drawn. */
function draws(logits: number[], uniforms: number[], change: Change = {}, hidden: number[] = []): Draw {
  return tidy(() => {
    const wide = tensor(logits, [1, logits.length]).expand([uniforms.length, -1]).contiguous();
    const forbidden = tensor(
      logits.map((_, id) => (hidden.includes(id) ? 1 : 0)),
      [logits.length],
    ).to('bool');
    const rules = uniforms.map((number) => rulesOf(change, number, [], false));
    return draw(wide, rules, hidden.length > 0 ? forbidden : undefined);
  });
}

/** The ids of coded sets. */
const idsOf = (sets: Draw['support']): (number[] | undefined)[] =>
  sets.map((set) => set && [...TokenSets.fromBytes([set.length], set).ids(0)]);

/** n numbers that cut [0, 1) evenly. */
const even = (n: number) => range(n).map((i) => (i + 0.5) / n);

const gaussian = (...keys: number[]) =>
  Math.sqrt(-2 * Math.log(1 - uniform(3, ...keys, 0))) * Math.cos(2 * Math.PI * uniform(3, ...keys, 1));

const normal = (n: number, scale: number, seed: number) =>
  range(n).map(
    (i) =>
      scale * Math.sqrt(-2 * Math.log(1 - uniform(seed, i, 0))) * Math.cos(2 * Math.PI * uniform(seed, i, 1)),
  );

/** The tokens that can be drawn; each takes at least 1/4000 of the probability in these tests. */
const support = (logits: number[], change: Change) =>
  [...new Set(draws(logits, even(4000), change).tokens)].sort((a, b) => a - b);

describe('draw', () => {
  // From TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper and MinPLogitsWarper of transformers 5.18.
  const peaked = [-0.974, -1.208, -1.116, 1.335, -0.395, 3.886, -2.803, -1.525, 1.262, -1.798, -1.116, 1.381];
  const middle = [0.222, -0.666, 0.685, 0.574, -0.583, 0.768, 0.057, -1.189, -0.566, -0.833, 0.901, 0.212];
  const flat = [0.134, -0.183, 0.072, 0.141, -0.586, -0.168, 0.129, -0.679, -0.061, 0.32, 0.097, -0.021];
  it.each<[Change, number[], number[], number[]]>([
    [{ topP: 0.9 }, [3, 5, 11], [0, 2, 3, 4, 5, 6, 8, 10, 11], [0, 1, 2, 3, 5, 6, 8, 9, 10, 11]],
    [{ topP: 0.5 }, [5], [2, 3, 5, 10], [0, 3, 6, 9, 10]],
    [{ topP: 0.05 }, [5], [10], [9]],
    [{ minP: 0.2 }, [5], [0, 1, 2, 3, 4, 5, 6, 8, 10, 11], range(12)],
    [{ minP: 1 }, [5], [10], [9]],
    [{ topK: 4 }, [3, 5, 8, 11], [2, 3, 5, 10], [0, 3, 6, 9]],
    [{ topK: 1 }, [5], [10], [9]],
    [{ topK: 6, topP: 0.7, minP: 0.3 }, [5], [2, 3, 5, 10], [0, 3, 6, 9, 10]],
    [{ temperature: 0.7, topK: 5, topP: 0.9, minP: 0.1 }, [5], [0, 2, 3, 5, 10], [0, 3, 6, 9, 10]],
    [
      { temperature: 1.5, topK: 8, topP: 0.8, minP: 0.25 },
      [5],
      [0, 2, 3, 5, 10, 11],
      [0, 2, 3, 6, 9, 10, 11],
    ],
  ])('keeps what transformers keeps: %o', (change, ofPeaked, ofMiddle, ofFlat) => {
    for (const [logits, kept] of [
      [peaked, ofPeaked],
      [middle, ofMiddle],
      [flat, ofFlat],
    ] as const) {
      expect(support(logits, change)).toEqual(kept);
      const { support: sets } = draws(logits, [0.1, 0.9], { ...change, keepSupport: true });
      expect(idsOf(sets)).toEqual([kept, kept]);
    }
  });

  // Probabilities 1/2, 1/8, 1/4, 1/16, 1/16: the bounds are met exactly. From transformers as above.
  it.each<[Change, number[]]>([
    [{ topP: 0.5 }, [0]],
    [{ topP: 0.5001 }, [0, 2]],
    [{ topP: 0.75 }, [0, 2]],
    [{ topP: 0.7501 }, [0, 1, 2]],
    [{ topP: 0.875 }, [0, 1, 2]],
    [{ minP: 0.5 }, [0, 2]],
    [{ minP: 0.25 }, [0, 1, 2]],
    [{ minP: 0.501 }, [0]],
    [{ topK: 3 }, [0, 1, 2]],
    [{ topK: 4 }, [0, 1, 2, 3, 4]],
    [{ topK: 3, topP: 0.75 }, [0, 2]],
  ])('decides on a bound as transformers does: %o', (change, kept) => {
    expect(
      support(
        [2, 8, 4, 16, 16].map((n) => -Math.log(n)),
        change,
      ),
    ).toEqual(kept);
  });

  it('lets equally likely tokens stay or go together', () => {
    const logits = Array<number>(8).fill(0.3);
    for (const change of [{}, { topK: 3 }, { topP: 0.4 }, { minP: 0.9 }]) {
      const { tokens, sampledLogprobs } = draws(logits, even(8), change);
      expect(tokens, JSON.stringify(change)).toEqual(range(8));
      for (const x of sampledLogprobs) expect(x).toBeCloseTo(Math.log(1 / 8), 6);
    }
  });

  // The likeliest 1024 hold nearly all, 0.93 and 0.28 of the probability: two nuclei are among them.
  it.each([
    ['4096 tokens, few likely', 4096, 3],
    ['4096 tokens, hundreds in the nucleus', 4096, 2.2],
    ['4096 tokens, nearly flat', 4096, 0.1],
  ])('finds the nucleus of a wide vocabulary: %s', (_, vocab, scale) => {
    const logits = normal(vocab, scale, 11);
    for (const change of [{ topP: 0.9 }, { topP: 0.9, minP: 0.01 }, { topP: 0.7, topK: 3000 }] as Change[]) {
      const expected = truncated(logits, { ...plainSampling, ...change });
      const { tokens, sampledLogprobs } = draws(logits, even(300), change);
      // The probability is renormalised over the kept tokens, so one token too many or too few changes it.
      for (const [i, id] of tokens.entries()) {
        expect(Math.abs(sampledLogprobs[i]! - expected[id]!), `token ${id}`).toBeLessThan(1e-5);
      }
    }
  });

  it('keeps sets where it is asked to and less than the vocabulary is drawn from', () => {
    const logits = normal(50, 1, 8);
    expect(draws(logits, [0.5], { topP: 0.5 }).support).toEqual([undefined]);
    expect(draws(logits, [0.5], { keepSupport: true }).support).toEqual([undefined]);
    const greedy = { temperature: 0, topP: 0.5, keepSupport: true };
    expect(draws(logits, [0], greedy).support).toEqual([undefined]);
    // What is forbidden is in no set, also where fewer are left than top-k lets through.
    const hidden = range(50).filter((id) => id > 3);
    const { support: sets } = draws(logits, [0.5], { topK: 9, keepSupport: true }, hidden);
    expect(idsOf(sets)).toEqual([[0, 1, 2, 3]]);
  });

  it('gives a row the same token whatever the other rows are', () => {
    const [few, flat] = [normal(3000, 3, 5), normal(3000, 0.1, 6)];
    // Scores of a half-precision model have many ties.
    const rough = few.map((x) => Math.round(x * 4) / 4);
    tidy(() => {
      const uniforms = even(100);
      for (const change of [{ topP: 0.9 }, { topK: 50 }, { minP: 0.1 }]) {
        const alone = draws(rough, uniforms, change).tokens;
        const rows = uniforms.flatMap(() => [...rough, ...flat]);
        const logits = tensor(rows, [200, 3000]);
        const mixed = draw(
          logits,
          uniforms.flatMap((u) => [rulesOf(change, u), rulesOf({ ...change, temperature: 0.8 }, 1 - u)]),
        );
        expect(mixed.tokens.filter((_, i) => i % 2 === 0)).toEqual(alone);
      }
    });
  });

  describe('frequencies', () => {
    const N = 40_000;
    const uniforms = range(N).map((i) => uniform(2026, i));
    const logits = normal(16, 1, 3);
    const chiSquare = (tokens: number[], expected: number[]) => {
      const counts = expected.map(() => 0);
      for (const id of tokens) counts[id]!++;
      return expected.reduce((sum, p, id) => {
        if (p === 0) return counts[id] === 0 ? sum : Number.POSITIVE_INFINITY;
        return sum + (counts[id]! - N * p) ** 2 / (N * p);
      }, 0);
    };
    // The 99.9 % quantile for 15 degrees of freedom.
    const BOUND = 37.7;

    it.each<[Change]>([
      [{}],
      [{ temperature: 0.7 }],
      [{ topK: 6 }],
      [{ topP: 0.8 }],
      [{ minP: 0.2 }],
      [{ temperature: 1.3, topK: 12, topP: 0.9, minP: 0.1 }],
    ])('are those of the distribution: %o', (change) => {
      const { tokens } = draws(logits, uniforms, change);
      const options = { ...plainSampling, ...change };
      const wanted = (o: SamplingOptions) => truncated(logits, o).map(Math.exp);
      expect(chiSquare(tokens, wanted(options))).toBeLessThan(BOUND);
      // The bound distinguishes a temperature from one a tenth higher.
      expect(
        chiSquare(tokens, wanted({ ...options, temperature: 1.1 * options.temperature })),
      ).toBeGreaterThan(BOUND);
    });
  });

  it('never draws a token of probability 0', () => {
    const logits = [1, 2, 0, 3, -1, 0.5];
    expect(draws(logits, [0, ALMOST_ONE], {}, [0, 3, 5]).tokens).toEqual([1, 4]);
    expect(draws(logits, [0, ALMOST_ONE], { topK: 2 }).tokens).toEqual([1, 3]);
    expect(draws(logits, [0, ALMOST_ONE], { topP: 0.8 }).tokens).toEqual([1, 3]);
    expect(draws(logits, [0, ALMOST_ONE], { minP: 0.3 }).tokens).toEqual([1, 3]);
    // Sums of many small numbers do not reach 1 exactly.
    const wide = normal(50_000, 2, 9);
    for (const edge of [0, ALMOST_ONE]) {
      const hidden = [...range(100), ...range(100).map((i) => 49_900 + i)];
      const { tokens, sampledLogprobs } = draws(wide, [edge], {}, hidden);
      expect(tokens).toEqual([edge === 0 ? 100 : 49_899]);
      expect(sampledLogprobs[0]).toBeGreaterThan(-30);
    }
  });

  it('scores under the plain distribution what it draws from a penalised one', () => {
    const logits = normal(12, 1, 4);
    const change = { temperature: 0.7, presencePenalty: 1.5, frequencyPenalty: 0.25, repetitionPenalty: 1.2 };
    const generated = [0, 3, 3, 6, 9, 3];
    const rules = even(50).map((u) => rulesOf(change, u, generated));
    const adjusted = adjust(logits, generated, new Set(), { ...plainSampling, ...change });
    const [plain, drawn] = [logSoftmax(logits, 0.7), logSoftmax(adjusted, 0.7)];
    for (const by of [draw, drawByOperators]) {
      const all = tidy(() =>
        by(
          tensor(
            rules.flatMap(() => logits),
            [50, 12],
          ),
          rules,
        ),
      );
      for (const [i, id] of all.tokens.entries()) {
        expect(all.logprobs[i]).toBeCloseTo(plain[id]!, 5);
        expect(all.sampledLogprobs[i]).toBeCloseTo(drawn[id]!, 5);
      }
    }
  });

  it('takes the likeliest token at temperature 0, and is certain of it', () => {
    const { tokens, logprobs, sampledLogprobs } = draws(middle, [0.9], { temperature: 0 });
    expect(tokens).toEqual([10]);
    expect(logprobs[0]).toBeCloseTo(logSoftmax(middle)[10]!, 5);
    expect(Array.from(sampledLogprobs)).toEqual([0]);
    expect(draws(middle, [0.9], { temperature: 0 }, [10]).tokens).toEqual([5]);
  });

  it.each([[1], [0]])(
    'gives NaN, not a number, for logits that are NaN, at temperature %d',
    (temperature) => {
      const { logprobs } = draws([1, Number.NaN, 2], [0.5], { temperature });
      expect(logprobs[0]).toBeNaN();
    },
  );

  // Rows of kinds in turn: few likely tokens, a trained model's long tail, nearly flat, and rough as those of bfloat16.
  const kinds = [
    (id: number, r: number) => 3 * gaussian(r, id) + (uniform(r, id, 7) < 0.004 ? 14 : 0),
    (id: number, r: number) => 2.5 * gaussian(r, id),
    (id: number, r: number) => 0.1 * gaussian(r, id),
    (id: number, r: number) => Math.round(8 * gaussian(r, id)) / 8,
  ];
  it.each<[Change]>([
    [{}],
    [{ topP: 0.95 }],
    [{ topP: 0.5 }],
    [{ topP: 0.998, temperature: 0.7 }],
    [{ topK: 50 }],
    [{ topK: 4000 }],
    [{ minP: 0.05 }],
    [{ topK: 700, topP: 0.9, minP: 0.001, temperature: 1.3 }],
    [{ topP: 0.9, repetitionPenalty: 1.4, presencePenalty: 0.3, frequencyPenalty: 0.2 }],
    [{ repetitionPenalty: 1.4 }],
  ])('is that of libtorch’s operators: %o', (change) => {
    tidy(() => {
      const [rows, vocab] = [24, 5003];
      const logits = tensor(
        range(rows).flatMap((r) => range(vocab).map((id) => kinds[r % kinds.length]!(id, r))),
        [rows, vocab],
      );
      const rules = range(rows).map((r) =>
        rulesOf({ ...change, keepSupport: true }, uniform(5, r), [r, 7, 7, 4000 + r], r % 5 !== 0),
      );
      const forbidden = tensor(
        range(vocab).map((id) => (id % 3 === 0 ? 1 : 0)),
        [vocab],
      ).to('bool');
      const [ours, theirs] = [draw, drawByOperators].map((by) => by(logits, rules, forbidden)) as [
        Draw,
        Draw,
      ];
      expect(ours.tokens).toEqual(theirs.tokens);
      for (const [i, set] of idsOf(ours.support).entries()) {
        expect(set, `row ${i}`).toEqual(idsOf(theirs.support)[i]);
        if (set) expect(set).toContain(ours.tokens[i]);
      }
      for (const of of ['logprobs', 'sampledLogprobs'] as const)
        for (const [i, x] of ours[of].entries()) expect(Math.abs(x - theirs[of][i]!)).toBeLessThan(3e-6);
    });
  });
});
