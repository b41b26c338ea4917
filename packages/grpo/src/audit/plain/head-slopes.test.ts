import { cat, empty, Generator, grad, type Tensor, tensor, tidy } from '@grpo/torch';
import { expect, it } from 'vitest';
import { HeadSlopes, type SlopedPass } from './head-slopes.js';
import { finalNorm } from './plain-decoder.js';
import { partRows } from './plain-head.js';
import { plainScores } from './plain-logprobs.js';
import { configOf } from './plain-model.test.helper.js';
import { passesOf } from './plain-pass.js';

const [VOCABULARY, WIDTH, TEMPERATURE] = [120_000, 64, 0.8];

const random = (seed: number, shape: number[]) =>
  empty(shape).normal_(0, 0.3, { generator: new Generator(seed) });

const furthest = (ours: Tensor, theirs: Tensor) => ours.sub(theirs).abs().amax([0, 1]).item();

it('has the slopes that autograd has of a vocabulary of several parts', () => {
  tidy(() => {
    const weights = new Map([
      ['lm_head.weight', random(1, [VOCABULARY, WIDTH])],
      ['model.norm.weight', random(2, [WIDTH])],
    ]);
    const model = { config: { ...configOf('llama3'), tie_word_embeddings: false }, weights };
    const sequences = [12, 16].map((length, seed): SlopedPass => {
      // Tokens of the first part and of the last.
      const completion = Array.from({ length }, (_, t) => (t % 2 ? t : VOCABULARY - 1 - t));
      // Those of the second completion could have been drawn from few ids, of either part.
      const support =
        seed === 0 ? undefined : completion.map((id) => [...new Set([id, 5, 77_777, VOCABULARY - 1])]);
      const sequence = { prompt: [1, 2], completion, support };
      const [pass] = passesOf(model, sequence);
      const last = random(3 + seed, [length + 1, WIDTH]);
      const slope = (t: number) => Math.sin(7 * t + seed);
      return {
        ...pass!,
        states: [last],
        scores: plainScores(model, sequence, [pass!], [last], TEMPERATURE).passes[0]!,
        slopes: {
          logprobs: Float64Array.from(completion, (_, t) => slope(t)),
          entropies: Float64Array.from(completion, (_, t) => slope(t + 0.5)),
        },
      };
    });
    const tokens = sequences.flatMap(({ targets }) => targets);

    const head = weights.get('lm_head.weight')!.detach();
    head.requiresGrad = true;
    const normed = sequences.map(({ states, targets }) => {
      const x = finalNorm(model)
        .of(states[0]!.narrow(0, 1, targets.length))
        .detach();
      x.requiresGrad = true;
      return x;
    });
    const kept = sequences.flatMap(({ support, targets }) => support ?? targets.map(() => undefined));
    const outside = new Uint8Array(tokens.length * VOCABULARY);
    for (const [row, ids] of kept.entries()) {
      if (!ids) continue;
      outside.fill(1, row * VOCABULARY, (row + 1) * VOCABULARY);
      for (const id of Array.from(ids)) outside[row * VOCABULARY + id] = 0;
    }
    const isOutside = tensor(outside, [tokens.length, VOCABULARY], { dtype: 'bool' });
    // Far below every other, and finite: 0 × −∞ is no entropy.
    const logits = cat(normed).matmul(head.t()).div(TEMPERATURE).maskedFill(isOutside, -1e4);
    const logprobs = logits.logSoftmax(-1);
    const column = (of: (pass: SlopedPass) => Float64Array) =>
      tensor(Float32Array.from(sequences.flatMap((one) => [...of(one)])), [tokens.length, 1]);
    const loss = logprobs
      .gather(1, tensor(tokens, [tokens.length, 1], { dtype: 'int64' }))
      .mul(column(({ slopes }) => slopes.logprobs))
      .sub(
        logprobs
          .exp()
          .mul(logprobs)
          .sumDim([-1], true)
          .mul(column(({ slopes }) => slopes.entropies)),
      )
      .sum();
    const [byHead, ...byNormed] = grad([loss], [head, ...normed]) as Tensor[];

    const slopes = new HeadSlopes(model, sequences, TEMPERATURE);
    const compare = (gradient: Tensor, start: number) =>
      expect(furthest(gradient, byHead!.narrow(0, start, gradient.size(0)))).toBeLessThan(1e-5);
    const own = slopes.backward((gradient, start) => compare(gradient(), start));
    const starts: number[] = [];
    slopes.eachGradient((gradient, start) => {
      starts.push(start);
      compare(gradient, start);
    });
    expect(starts).toEqual([0, partRows(weights.get('lm_head.weight')!, tokens.length)]);
    for (const [i, { targets }] of sequences.entries()) {
      expect(furthest(own[i]!.narrow(0, 1, targets.length), byNormed[i]!)).toBeLessThan(1e-5);
      expect(furthest(own[i]!.narrow(0, 0, 1), own[i]!.narrow(0, 0, 1).zerosLike())).toBe(0);
    }
  });
});
