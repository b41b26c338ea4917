import { fileURLToPath } from 'node:url';
import { linear, noGrad, type Tensor, tidy } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DEVICE, tensor } from '../device.test.helper.js';
import { TokenSets } from '../formats/token-sets.js';
import { uniform } from '../maths/random.js';
import { type Decoder, loadModel, packSegments } from '../models/index.js';
import { type ScoredGroup, scoreTokens } from './logprob.js';

const TEMPERATURE = 0.7;

const groups: ScoredGroup[] = [
  { prompt: [11, 42, 7], completions: [[5, 9, 200, 31, 8], [77], [3, 3, 120]] },
  { prompt: [1, 2], completions: [[250, 17, 64, 64]] },
];
/** Each token and about a tenth of the others; the second completion is scored over the vocabulary. */
const restricted: ScoredGroup[] = groups.map((group, g) => ({
  ...group,
  support: group.completions.map((ids, i) => {
    const sets = ids.map((own, t) =>
      Array.from({ length: 256 }, (_, id) => id).filter((id) => id === own || uniform(6, g, i, t, id) < 0.1),
    );
    return i === 1 ? undefined : TokenSets.of(sets);
  }),
}));
const sequences = groups.flatMap(({ prompt, completions }) =>
  completions.map((completion) => ({ prompt, completion })),
);
const TOKENS = sequences.reduce((sum, { completion }) => sum + completion.length, 0);

/** Weights of the scores in a sum, so that one number has the gradient of all of them. */
const weightsOf = (key: number) => Float64Array.from({ length: TOKENS }, (_, t) => uniform(9, key, t) - 0.3);
const [OF_LOGPROBS, OF_ENTROPIES, OF_KL] = [weightsOf(1), weightsOf(2), weightsOf(3)];

/** A fixture model with its weights in float64: scoreTokens rounds only the logits to float32. */
function wideModel(name: string): Decoder {
  const url = new URL(`../../../../parity/fixtures/models/${name}`, import.meta.url);
  const { decoder } = loadModel(fileURLToPath(url), { dtype: 'float64', device: DEVICE });
  for (const parameter of decoder.parameters.values()) parameter.requiresGrad = true;
  onTestFinished(() => decoder.dispose());
  return decoder;
}

function referenceOf(decoder: Decoder): Decoder {
  const reference = decoder.clone();
  noGrad(() => {
    for (const [i, parameter] of [...reference.parameters.values()].entries())
      tidy(() => parameter.mul_(1 + 0.2 * uniform(4, i)));
  });
  onTestFinished(() => reference.dispose());
  return reference;
}

/** log π where each completion token is predicted, one sequence at a time, in float64; −∞ outside of the support. */
function distributions(decoder: Decoder, scored: readonly ScoredGroup[]): Tensor[] {
  const support = scored.flatMap((group) => group.completions.map((_, i) => group.support?.[i]));
  const [head] = ['lm_head', 'transformer.wte', 'model.embed_tokens'].flatMap(
    (name) => decoder.parameters.get(`${name}.weight`) ?? [],
  );
  return sequences.map(({ prompt, completion }, s) => {
    const packed = packSegments([{ ids: [...prompt, ...completion] }], decoder.config, decoder.device);
    const hidden = decoder.hidden(packed, packed.attend).narrow(0, prompt.length - 1, completion.length);
    const logits = linear(hidden, head!).div(TEMPERATURE);
    const width = logits.size(-1);
    const hides = completion.flatMap((_, t) => {
      const kept = new Set(support[s]?.ids(t));
      return Array.from({ length: width }, (_, id) => (support[s] && !kept.has(id) ? 1 : 0));
    });
    return logits.maskedFill(tensor(hides, logits.shape).to('bool'), Number.NEGATIVE_INFINITY).logSoftmax(-1);
  });
}

/** The three sums of scores by their definitions, without autograd. */
function plainSums(
  decoder: Decoder,
  reference: Decoder,
  scored: readonly ScoredGroup[],
): [number, number, number] {
  return noGrad(() =>
    tidy(() => {
      const sums: [number, number, number] = [0, 0, 0];
      const references = distributions(reference, scored);
      let t = 0;
      for (const [i, all_TV] of distributions(decoder, scored).entries()) {
        const [own, other] = [all_TV, references[i]!].map((x) => x.toNumbers()) as [number[], number[]];
        const width = all_TV.size(-1);
        for (const [row, id] of sequences[i]!.completion.entries()) {
          sums[0] += OF_LOGPROBS[t]! * own[row * width + id]!;
          for (let v = row * width; v < (row + 1) * width; v++) {
            const p = Math.exp(own[v]!);
            if (p === 0) continue;
            sums[1] -= OF_ENTROPIES[t]! * p * own[v]!;
            sums[2] += OF_KL[t]! * p * (own[v]! - other[v]!);
          }
          t++;
        }
      }
      return sums;
    }),
  );
}

const move = (decoder: Decoder, direction: Map<string, Float64Array>, distance: number) =>
  noGrad(() =>
    tidy(() => {
      for (const [name, parameter] of decoder.parameters)
        parameter.add_(tensor(direction.get(name)!, parameter.shape).mul(distance));
    }),
  );

describe.each([
  ['llama3', 'the vocabulary', groups],
  ['gpt2', 'the vocabulary', groups],
  ['qwen3', 'the vocabulary', groups],
  ['qwen3', "the tokens' support", restricted],
] as const)('scores of %s over %s', (name, _, scored) => {
  // Logits are rounded to float32: of log-probs of up to 10 nats, 1e-6 is left.
  it.each([
    ['log-probs', 0],
    ['entropies', 1],
    ['the full KL', 2],
  ] as const)('%s and their gradient are those of the definition', (_, which) => {
    const decoder = wideModel(name);
    const reference = referenceOf(decoder);
    const { value, gradients } = tidy(() => {
      const scores = scoreTokens(decoder, scored, TEMPERATURE, {
        entropyGradient: true,
        fullKlTo: reference,
      });
      const values_T = [scores.logprobs_T, scores.entropies_T, scores.fullKl_T!][which]!;
      const total = values_T.mul(tensor([OF_LOGPROBS, OF_ENTROPIES, OF_KL][which]!)).sum();
      total.backward();
      const found = [...decoder.parameters].map(
        ([key, { grad }]) => [key, Float64Array.from(grad!.toNumbers())] as const,
      );
      return { value: total.item(), gradients: new Map(found) };
    });
    const sum = () => plainSums(decoder, reference, scored)[which];
    expect(Math.abs(value - sum())).toBeLessThan(1e-5 * Math.max(1, Math.abs(value)));
    // Along the gradient, and along others that no symmetry spares.
    for (const seed of [0, 1, 2]) {
      const direction = new Map(
        [...gradients].map(([key, g], k) => [key, seed === 0 ? g : g.map((x, i) => x * uniform(seed, k, i))]),
      );
      let [expected, square] = [0, 0];
      for (const [key, d] of direction)
        for (const [i, x] of d.entries()) {
          expected += x * gradients.get(key)![i]!;
          square += x * x;
        }
      const step = 2e-5 / Math.sqrt(square);
      move(decoder, direction, step);
      const above = sum();
      move(decoder, direction, -2 * step);
      const slope = (above - sum()) / (2 * step);
      move(decoder, direction, step);
      expect(Math.abs(slope / expected - 1)).toBeLessThan(1e-5);
    }
  });
});

describe('equal weights', () => {
  it.each([groups, restricted])('have a full KL of exactly 0', (...scored) => {
    const decoder = wideModel('llama3');
    const { fullKl_T } = tidy(() => scoreTokens(decoder, scored, TEMPERATURE, { fullKlTo: decoder }));
    expect(fullKl_T!.toNumbers().every((kl) => kl === 0)).toBe(true);
    expect(fullKl_T!.numel).toBe(TOKENS);
  });
});

describe('a support', () => {
  const score = (change: (ids: number[][]) => number[][]) => {
    const sets = TokenSets.of(change([[3, 5, 9], [9, 40], [200]]));
    const group = { prompt: [11, 42], completions: [[77], [5, 9, 200]], support: [undefined, sets] };
    return tidy(() => scoreTokens(wideModel('llama3'), [groups[1]!, group], TEMPERATURE));
  };

  it('that lacks a token is refused, with the token and its place', () => {
    expect(() => score((ids) => ids)).not.toThrow();
    expect(() => score(([first, , last]) => [first!, [8, 10], last!])).toThrow(
      'token 1 of completion 1 of prompt 1 has id 9, which is not among the 2 ids that it could be drawn from',
    );
    expect(() => score((ids) => ids.slice(1))).toThrow(
      'there are 2 sets for the 3 tokens of completion 1 of prompt 1',
    );
  });
});
