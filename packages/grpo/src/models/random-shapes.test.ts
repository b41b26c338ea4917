import { Generator, noGrad, ones, type Tensor, tidy, zeros } from '@grpo/torch';
import { expect, it } from 'vitest';
import { Dice } from '../formats/mutate.test.helper.js';
import type { DecoderConfig } from './config.js';
import type { Decoder } from './decoder.js';
import { packSegments } from './pack-segments.js';
import { described, randomDecoder, randomShape } from './random-shape.test.helper.js';
import type { Segment } from './segment.js';
import type { Attend } from './transformer.js';

const SEEDS = Array.from({ length: 16 }, (_, seed) => seed);

const ids = (length: number, from: number) => Array.from({ length }, (_, i) => (from + 5 * i) % 24);
/** A prompt of a group, and a sequence of its own. */
const SEGMENTS: Segment[] = [
  { ids: ids(7, 1) },
  ...[5, 9, 1].map((length, i) => ({ ids: ids(length, 3 * i), parent: 0 })),
  { ids: ids(12, 7) },
];

/** Attention to one whole sequence, all its scores side by side. */
const dense =
  ({ attention, attentionScale, attentionSoftcap: cap, heads, kvHeads }: DecoderConfig): Attend =>
  (layer, ...qkv) => {
    const length = qkv[0].size(0);
    const { window = length } = attention[layer]!;
    const [q, k, v] = qkv.map((x, i) =>
      x.transpose(0, 1).repeatInterleave(i === 0 ? 1 : heads / kvHeads, 0),
    ) as [Tensor, Tensor, Tensor];
    const scores = q.matmul(k.transpose(1, 2)).mul(attentionScale);
    const capped = cap === undefined ? scores : scores.div(cap).tanh().mul(cap);
    const upTo = (diagonal: number) => ones([length, length], { dtype: 'bool' }).tril(diagonal);
    const seen = capped
      .maskedFill(upTo(0).logicalNot(), Number.NEGATIVE_INFINITY)
      .maskedFill(upTo(-window), Number.NEGATIVE_INFINITY);
    return seen.softmax(-1).matmul(v).transpose(0, 1);
  };

/** Hidden states of all segments in one pack: `[N, D]`. */
function packed(decoder: Decoder): Tensor {
  const pack = packSegments(SEGMENTS, decoder.config, 'cpu');
  return decoder.hidden(pack, pack.attend);
}

/** Hidden states of a segment, computed with its parent as one sequence. */
function alone(decoder: Decoder, { ids, parent }: Segment): Tensor {
  const before = parent === undefined ? [] : SEGMENTS[parent]!.ids;
  const pack = packSegments([{ ids: [...before, ...ids] }], decoder.config, 'cpu');
  return decoder.hidden(pack, dense(decoder.config)).narrow(0, before.length, ids.length);
}

/** A number of hidden states on which each of their elements has another effect. */
const lossOf = (hidden: Tensor): Tensor => {
  const weights = zeros(hidden.shape).normal_(0, 1, { generator: new Generator(3) });
  return hidden.mul(weights.to(hidden.dtype)).sum();
};

const largest = (x: Tensor) => Math.max(...x.abs().toNumbers());
const lengthOf = (x: Tensor) => Math.hypot(...x.toNumbers());

function gradients(decoder: Decoder): Map<string, Tensor> {
  for (const parameter of decoder.parameters.values()) parameter.requiresGrad = true;
  tidy(() => lossOf(packed(decoder)).backward());
  return new Map([...decoder.parameters].flatMap(([name, { grad }]) => (grad ? [[name, grad]] : [])));
}

it.each(SEEDS)('shape %i: a pack is its sequences one by one', (seed) => {
  const config = randomShape(new Dice(seed));
  const [narrow, wide] = [randomDecoder(config, seed), randomDecoder(config, seed, 'float64')];
  tidy(() =>
    noGrad(() => {
      const logits = narrow.logits(packed(narrow));
      let start = 0;
      for (const segment of SEGMENTS) {
        const exact = wide.logits(alone(wide, segment));
        const ours = logits.narrow(0, start, segment.ids.length);
        expect(largest(ours.sub(exact)), described(config)).toBeLessThan(1e-5 * largest(exact));
        start += segment.ids.length;
      }
    }),
  );
});

it.each(SEEDS)('shape %i: gradients are those of finite differences', (seed) => {
  const config = randomShape(new Dice(seed));
  const [narrow, wide] = [randomDecoder(config, seed), randomDecoder(config, seed, 'float64')];
  tidy(() => {
    const [ours, exact] = [gradients(narrow), gradients(wide)];
    const generator = new Generator(seed + 100);
    const moved = new Map(
      [...wide.parameters].map(([name, { shape }]) => [
        name,
        zeros(shape).normal_(0, 1, { generator }).to('float64'),
      ]),
    );
    const lossAt = (distance: number) =>
      noGrad(() => {
        for (const [name, by] of moved) wide.parameters.get(name)!.add_(by, { alpha: distance });
        const loss = lossOf(packed(wide)).item();
        for (const [name, by] of moved) wide.parameters.get(name)!.add_(by, { alpha: -distance });
        return loss;
      });
    const step = 1e-6;
    const slope = (lossAt(step) - lossAt(-step)) / (2 * step);
    let expected = 0;
    for (const [name, gradient] of exact) expected += gradient.mul(moved.get(name)!).sum().item();
    expect(Math.abs(slope - expected), described(config)).toBeLessThan(1e-6 * (1 + Math.abs(slope)));
    expect([...ours.keys()]).toEqual([...exact.keys()]);
    // A layer whose window is 1 gives its queries no gradient but rounding's.
    const all = Math.hypot(...[...exact.values()].map(lengthOf));
    for (const [name, gradient] of exact) {
      const [size, distance] = [lengthOf(gradient), lengthOf(ours.get(name)!.sub(gradient))];
      expect(distance, `${name} of ${described(config)}`).toBeLessThan(1e-5 * size + 1e-6 * all);
    }
  });
});
