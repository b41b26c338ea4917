import { describe, expect, it } from 'vitest';
import {
  AdamW,
  cat,
  embedding,
  empty,
  grad,
  linear,
  noGrad,
  packedLinear,
  packLinear,
  type Tensor,
  tensor,
  tidy,
  tokenScores,
  unsafe,
} from './index.js';

const random = (...shape: number[]) => empty(shape).uniform_(-1, 1);

/** Largest difference relative to the largest number. */
function distance(ours: Tensor, theirs: Tensor): number {
  expect(ours.shape).toEqual(theirs.shape);
  return ours.sub(theirs).abs().amax([]).item() / theirs.abs().amax([]).item();
}

const libtorchLinear = (x: Tensor, weight: Tensor, bias: Tensor | null) =>
  unsafe.call('aten::linear', x, weight, bias) as Tensor;

describe('embedding', () => {
  it.each(['float32', 'bfloat16', 'float16'] as const)(
    'in %s adds up the slopes of a row that many tokens have',
    (dtype) => {
      tidy(() => {
        const ids = tensor(
          BigInt64Array.from({ length: 3000 }, (_, i) => BigInt(i % 7 === 0 ? 4 : 1)),
          [50, 60],
        );
        const [weight, slopes] = [random(6, 40).to(dtype), random(50, 60, 40).to(dtype)];
        weight.requiresGrad = true;
        const exact = random(6, 40).to('float64');
        exact.requiresGrad = true;
        const [expected] = grad([embedding(exact, ids)], [exact], [slopes.to('float64')]) as [Tensor];
        const [own] = grad([embedding(weight, ids)], [weight], [slopes]) as [Tensor];
        expect(own.dtype).toBe(dtype);
        // 2,571 roundings of one sum, all the same way at worst; in half precision that of the result.
        const wide = 2571 * 2 ** -24;
        expect(distance(own.to('float64'), expected)).toBeLessThan(dtype === 'float32' ? wide : 2 ** -8);
        // Two micro-batches of an optimizer, which keeps their sum in float32.
        const options = { beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0 };
        const optimizer = new AdamW(new Map([['weight', weight]]), options);
        for (let pass = 0; pass < 2; pass++)
          optimizer.accumulate(() => embedding(weight, ids).mul(slopes).sum().backward());
        const sum = optimizer.gradients.get('weight')!;
        expect(sum.dtype).toBe('float32');
        expect(distance(sum.to('float64'), expected.mul(2))).toBeLessThan(wide);
        optimizer.dispose();
      });
    },
  );
});

describe('embedding in float32', () => {
  it('has a second derivative', () => {
    tidy(() => {
      const weight = tensor(Float32Array.of(2, -3, 5, 7), [4, 1]);
      weight.requiresGrad = true;
      const ids = tensor(BigInt64Array.of(1n, 3n, 1n));
      const cubes = embedding(weight, ids).pow(3).sum();
      const [first] = grad([cubes], [weight], undefined, { createGraph: true });
      const [second] = grad([first!.sum()], [weight]);
      // n (w³)″ = 6 n w of a row that n ids have.
      expect(second!.toNumbers()).toEqual([0, 6 * 2 * -3, 0, 6 * 7]);
    });
  });
});

describe('linear', () => {
  // Wide and narrow outputs take different ways through the gradient of the weight.
  it.each([
    [5, 7, 3],
    [40, 16, 64],
    [64, 64, 16],
    [1, 8, 300],
    [37, 83, 150],
    [150, 147, 83],
  ])("of %d rows from %d to %d numbers is libtorch's, with its gradients", (rows, from, to) => {
    tidy(() => {
      const inputs = [random(rows, from), random(to, from), random(to)] as const;
      for (const input of inputs) input.requiresGrad = true;
      const [ours, theirs] = [linear(...inputs), libtorchLinear(...inputs)];
      expect(distance(ours.detach(), theirs.detach())).toBeLessThan(1e-5);
      const weights = [random(rows, to)];
      const own = grad([ours], inputs, weights);
      for (const [i, gradient] of grad([theirs], inputs, weights).entries())
        expect(distance(own[i]!, gradient!)).toBeLessThan(1e-5);
    });
  });

  // Without oneDNN's bfloat16, a large product is computed in parts of its outputs, rows and inputs.
  it.each([
    [5, 48, 33],
    [37, 33, 47],
    [300, 70, 130],
    [2, 64, 70_000],
    [9, 9000, 500],
    [600, 4200, 20],
  ])(
    'of bfloat16, %d rows from %d to %d numbers, is that of float32, with its gradients',
    (rows, from, to) => {
      tidy(() => {
        // As large as the sums, or the bound would not notice that it is missing.
        const bias = random(to).mul(Math.sqrt(from));
        const narrow = [random(rows, from), random(to, from), bias].map((t) => t.to('bfloat16'));
        const wide = narrow.map((t) => t.to('float32'));
        for (const input of [...narrow, ...wide]) input.requiresGrad = true;
        const [ours, exact] = [narrow, wide].map(([x, weight, bias]) => linear(x!, weight!, bias!));
        expect(distance(ours!.detach().to('float32'), exact!.detach())).toBeLessThan(0.01);
        const weights = random(rows, to).to('bfloat16');
        const own = grad([ours!], narrow, [weights]);
        for (const [i, gradient] of grad([exact!], wide, [weights.to('float32')]).entries())
          expect(distance(own[i]!.to('float32'), gradient!)).toBeLessThan(0.01);
      });
    },
  );

  it('has second derivatives', () => {
    tidy(() => {
      const [x, weight] = [random(4, 6), random(5, 6)];
      x.requiresGrad = true;
      const second = (apply: (a: Tensor) => Tensor) => {
        const y = apply(x);
        const [first] = grad([y.mul(y).sum()], [x], undefined, { createGraph: true });
        return grad([first!.mul(first!).sum()], [x])[0]!;
      };
      const ours = second((a) => linear(a, weight));
      expect(
        distance(
          ours,
          second((a) => libtorchLinear(a, weight, null)),
        ),
      ).toBeLessThan(1e-5);
    });
  });

  // Rows that fill tiles and do not, inputs of several blocks, outputs of whole groups of panels and not.
  const sizes = [
    [16, 48, 80],
    [5, 47, 83],
    [37, 300, 16],
    [300, 61, 131],
    [3, 33, 97],
  ] as const;
  const cases = (['float32', 'bfloat16'] as const).flatMap((dtype) =>
    sizes.map((size) => [dtype, ...size] as const),
  );
  it.each(cases)('by a packed weight is the same: %s, %d rows, %d to %d', (dtype, rows, inputs, outputs) => {
    noGrad(() =>
      tidy(() => {
        const shapes = [random(rows, inputs), random(outputs, inputs), random(outputs)];
        const [x, weight, bias] = shapes.map((t) => t.to(dtype)) as [Tensor, Tensor, Tensor];
        const packed = packLinear(weight);
        const wide = [x, weight, bias].map((t) => t.to('float64')) as [Tensor, Tensor, Tensor];
        const most = dtype === 'float32' ? 1e-5 : 0.01;
        const ours = packedLinear(x, packed, outputs, bias).to('float64');
        // Numbers of an input side by side, in place of an output's.
        const turned = packLinear(weight.t().contiguous().t());
        expect(distance(packedLinear(x, turned, outputs, bias).to('float64'), ours)).toBe(0);
        // Rows that lie further apart than they are long.
        const apart = cat([x, x], 1).narrow(1, inputs, inputs);
        expect(distance(packedLinear(apart, packed, outputs, bias).to('float64'), ours)).toBe(0);
        expect(distance(ours, libtorchLinear(...wide))).toBeLessThan(most);
        const unbiased = packedLinear(x, packed, outputs).to('float64');
        expect(distance(unbiased, libtorchLinear(wide[0], wide[1], null))).toBeLessThan(most);
      }),
    );
  });

  it.each(cases)(
    'by a packed weight has rows that do not depend on others: %s, %d, %d to %d',
    (dtype, rows, inputs, outputs) => {
      noGrad(() =>
        tidy(() => {
          const [x, weight] = [random(rows, inputs), random(outputs, inputs)].map((t) => t.to(dtype)) as [
            Tensor,
            Tensor,
          ];
          const packed = packLinear(weight);
          const all = packedLinear(x, packed, outputs);
          // However many rows are left for the last tiles.
          const first = Array.from({ length: Math.min(rows, 17) }, (_, i) => [0, i + 1] as const);
          for (const [from, count] of [
            ...first,
            [rows - 1, 1],
            [1, 2],
            [rows >> 1, rows - (rows >> 1)],
          ] as const) {
            const some = packedLinear(x.narrow(0, from, count).contiguous(), packed, outputs);
            expect(some.toBytes(), `${count} rows from ${from}`).toEqual(
              all.narrow(0, from, count).contiguous().toBytes(),
            );
          }
        }),
      );
    },
  );
});

describe('token scores', () => {
  interface Given {
    temperature: number;
    softcap?: number;
    /** For each row the ids that softmax is over; all where there are none. */
    sets?: (number[] | undefined)[];
    /** Hidden states and head of another model. */
    other?: [Tensor, Tensor];
  }

  /** Log-probs, entropies, KL to the other model, and the gradients of those that have weights, in float64. */
  function expected(hidden: Tensor, head: Tensor, targets: Tensor, weights: Tensor[], given: Given) {
    const { temperature, softcap = 0, sets, other } = given;
    const [h, w] = [hidden, head].map((t) => t.detach().to('float64')) as [Tensor, Tensor];
    for (const input of [h, w]) input.requiresGrad = true;
    const rows = hidden.size(0);
    const hides = Array.from({ length: rows }, (_, r) =>
      Array.from({ length: head.size(0) }, (_, id) => (sets?.[r]?.includes(id) === false ? 1 : 0)),
    );
    const outside = tensor(hides.flat(), [rows, head.size(0)]).to('bool');
    const logProbs = (x: Tensor, weight: Tensor) => {
      const logits = x.matmul(weight.t());
      const capped = softcap === 0 ? logits : logits.div(softcap).tanh().mul(softcap);
      return capped.div(temperature).maskedFill(outside, -1e30).logSoftmax(-1);
    };
    const all = logProbs(h, w);
    const kl = () => {
      const [x, weight] = other!.map((t) => t.to('float64')) as [Tensor, Tensor];
      return all
        .exp()
        .mul(all.sub(logProbs(x, weight)))
        .sumDim([-1]);
    };
    const scores = [
      all.gather(1, targets.unsqueeze(1)).squeeze(1),
      all.exp().mul(all).sumDim([-1]).neg(),
      ...(other ? [kl()] : []),
    ];
    const gradients = grad(
      scores.slice(0, weights.length),
      [h, w],
      weights.map((t) => t.to('float64')),
    );
    return [...scores, ...gradients].map((t) => t!.detach());
  }

  // 83 tokens: a row ends within a vector. The logits of the last chunk, or of the only one, are kept for the backward pass.
  it.each([
    ['float32', 1, 100, 2],
    ['float32', 0.7, 3, 2],
    ['float32', 0.7, 100, 1],
    ['bfloat16', 1, 100, 2],
    ['bfloat16', 0.7, 3, 1],
  ] as const)(
    'in %s at temperature %f, in chunks of %d, are those of float64',
    (dtype, temperature, chunk, given) => {
      tidy(() => {
        const [hidden, head] = [random(8, 6).to(dtype), random(83, 6).to(dtype)];
        for (const input of [hidden, head]) input.requiresGrad = true;
        const targets = tensor([3, 0, 82, 7, 7, 1, 64, 80], undefined, { dtype: 'int64' });
        const weights = [random(8), random(8)].slice(0, given);
        const ours = tokenScores(hidden, head, targets, null, null, {
          temperature,
          chunk,
          entropy_gradient: given === 2,
        });
        const scores = ours.slice(0, given);
        const gradients = grad(scores, [hidden, head], weights, { retainGraph: true });
        const theirs = expected(hidden, head, targets, weights, { temperature });
        for (const [i, value] of [ours[0]!, ours[1]!, ...gradients].entries())
          expect(distance(value!.detach().to('float64'), theirs[i]!)).toBeLessThan(
            dtype === 'float32' ? 3e-6 : 0.06,
          );
        // The saved tensors have not changed.
        for (const [i, again] of grad(scores, [hidden, head], weights).entries())
          expect(again!.toNumbers()).toEqual(gradients[i]!.toNumbers());
      });
    },
  );

  const varint = (value: number): number[] =>
    value < 128 ? [value] : [(value & 127) | 128, ...varint(value >> 7)];
  /** Sets as bytes: gaps between ids, or bitmaps. */
  function coded(sets: (number[] | undefined)[], kind: 'gaps' | 'bitmaps') {
    const bytes = sets.map((ids) => {
      if (!ids) return [];
      if (kind === 'gaps')
        return [2 * ids.length, ...ids.map((id, i) => id - (ids[i - 1] ?? -1) - 1)].flatMap(varint);
      const bits = Array<number>((ids.at(-1)! >> 3) + 1).fill(0);
      for (const id of ids) bits[id >> 3]! |= 1 << (id & 7);
      return [...varint(2 * ids.length + 1), ...bits];
    });
    const starts = [0];
    for (const { length } of bytes) starts.push(starts.at(-1)! + length);
    return {
      support: tensor(bytes.flat(), undefined, { dtype: 'uint8' }),
      support_offsets: tensor(starts, undefined, { dtype: 'int64' }),
    };
  }
  const TARGETS = [3, 0, 82, 7, 7, 1, 64, 80];
  // Of one id, of a vector and more, of all but a few, and of all by name and without.
  const SETS = [
    [3],
    [0, 1, 2, 50, 82],
    Array.from({ length: 83 }, (_, id) => id).filter((id) => id % 5 !== 0),
    Array.from({ length: 20 }, (_, i) => 4 * i + 3),
    Array.from({ length: 83 }, (_, id) => id),
    undefined,
    [8, 63, 64, 65],
    [79, 80],
  ];

  it.each([
    ['float32', 1, 100, 0, 'gaps', 2],
    ['float32', 0.7, 3, 0, 'bitmaps', 2],
    ['float32', 0.7, 100, 0.8, 'gaps', 2],
    ['float32', 1, 3, 0.8, undefined, 2],
    ['bfloat16', 0.7, 3, 0.8, 'bitmaps', 1],
    ['float64', 0.7, 3, 0.8, 'gaps', 2],
    ['float32', 0.7, 3, 0.8, 'gaps', 3],
    ['float32', 0.7, 100, 0, 'bitmaps', 3],
    ['float64', 1, 100, 0.8, 'gaps', 3],
  ] as const)(
    'of %s at temperature %f, in chunks of %d, capped at %f, with sets as %s: %d of them are those of float64',
    (dtype, temperature, chunk, softcap, kind, given) => {
      tidy(() => {
        const [hidden, head] = [random(8, 6).to(dtype), random(83, 6).to(dtype)];
        const other = [random(8, 6).to(dtype), random(83, 6).to(dtype)] as [Tensor, Tensor];
        for (const input of [hidden, head]) input.requiresGrad = true;
        // In the third set 0, 5, … are missing.
        const tokens = TARGETS.map((id, r) => (r === 2 ? 81 : r === 4 ? 0 : id));
        const targets = tensor(tokens, undefined, { dtype: 'int64' });
        const weights = [random(8), random(8), random(8)].slice(0, given).map((t) => t.to(dtype));
        const [x, weight] = given === 3 ? other : [null, null];
        const ours = tokenScores(hidden, head, targets, x, weight, {
          ...{ temperature, chunk, softcap, entropy_gradient: given > 1 },
          ...(kind && coded(SETS, kind)),
        });
        const gradients = grad(ours.slice(0, given), [hidden, head], weights, { retainGraph: true });
        const theirs = expected(hidden, head, targets, weights, {
          ...{ temperature, softcap },
          ...(kind && { sets: SETS }),
          ...(given === 3 && { other }),
        });
        const most = { float32: 3e-6, float64: 1e-12, bfloat16: 0.06 }[dtype];
        const found = [...ours.slice(0, Math.max(2, given)), ...gradients];
        expect(found.length).toBe(theirs.length);
        for (const [i, value] of found.entries())
          expect(distance(value!.detach().to('float64'), theirs[i]!)).toBeLessThan(most);
      });
    },
  );

  it('over a set of one id are certain of it, and equal models have a KL of exactly 0 over any', () => {
    tidy(() => {
      const [hidden, head] = [random(8, 6), random(83, 6)];
      const targets = tensor([...TARGETS.slice(0, 2), 81, ...TARGETS.slice(3)], undefined, {
        dtype: 'int64',
      });
      const options = { temperature: 0.7, chunk: 3, ...coded(SETS, 'gaps') };
      const [logprobs, entropies] = tokenScores(hidden, head, targets, null, null, options);
      expect([logprobs.toNumbers()[0], entropies.toNumbers()[0]]).toEqual([0, 0]);
      expect(tokenScores(hidden, head, targets, hidden, head, options)[2].toNumbers()).toEqual(
        Array(8).fill(0),
      );
    });
  });

  it('name a target that is not in its set, and sets that are none', () => {
    tidy(() => {
      const [hidden, head] = [random(2, 6), random(20, 6)];
      const targets = tensor([3, 5], undefined, { dtype: 'int64' });
      const over = (options: { support: Tensor; support_offsets: Tensor }) => () =>
        tokenScores(hidden, head, targets, null, null, options);
      const of = (...sets: number[][]) => over(coded(sets, 'gaps'));
      expect(of([3, 4], [4, 6, 7])).toThrow(/target 1 is 5, which is not among the 3 ids of its support/);
      expect(of([3, 20], [5])).toThrow(/the support of token 0 is no set of ids below 20/);
      expect(of([3])).toThrow(/support_offsets is int64 \[3\]/);
      const bytes = (...all: number[]) => tensor(all, undefined, { dtype: 'uint8' });
      const offsets = (...all: number[]) => tensor(all, undefined, { dtype: 'int64' });
      // Two ids are said and one is there; a size without an end; offsets that leave bytes out, or fall.
      for (const [data, starts] of [
        [bytes(4, 3, 2, 5), offsets(0, 2, 4)],
        [bytes(128, 2, 5), offsets(0, 1, 3)],
      ] as const)
        expect(over({ support: data, support_offsets: starts })).toThrow(/support of token 0 is no set/);
      expect(over({ support: bytes(2, 3, 2, 5), support_offsets: offsets(0, 2, 3) })).toThrow(
        /goes from 0 to 4/,
      );
      expect(over({ support: bytes(2, 3, 2, 5), support_offsets: offsets(0, 6, 4) })).toThrow(
        /falls at token 1/,
      );
    });
  });

  it('say that they have no second derivative', () => {
    tidy(() => {
      const [hidden, head] = [random(2, 6), random(20, 6)];
      hidden.requiresGrad = true;
      const scores = tokenScores(hidden, head, tensor([3, 4], undefined, { dtype: 'int64' }));
      expect(() => grad([scores[0].sum()], [hidden], undefined, { createGraph: true })).toThrow(
        /token_scores has no second derivative/,
      );
    });
  });

  it('name a target that is no token, and pass on what is no number', () => {
    tidy(() => {
      const [hidden, head] = [random(2, 6), random(20, 6)];
      const at = (second: number) =>
        tokenScores(hidden, head, tensor([3, second], undefined, { dtype: 'int64' }));
      expect(() => at(20)).toThrow('target 1 is 20, out of bounds: the vocabulary has 20 tokens');
      expect(() => at(-1)).toThrow('target 1 is -1');
      head.select(0, 5).fill_(Number.NaN);
      for (const scores of at(4).slice(0, 2)) expect(scores.toNumbers()).toEqual([Number.NaN, Number.NaN]);
    });
  });

  it.each([1, 3, 100])(
    'in chunks of %d rows are those of the whole distribution, with their gradients',
    (chunk) => {
      tidy(() => {
        const [hidden, head] = [random(8, 6), random(20, 6)];
        const [other, otherHead] = [random(8, 6), random(20, 6)];
        for (const input of [hidden, head]) input.requiresGrad = true;
        const targets = tensor([3, 0, 19, 7, 7, 1, 12, 5], undefined, { dtype: 'int64' });
        const options = { temperature: 0.7, chunk, entropy_gradient: true };
        const ours = tokenScores(hidden, head, targets, other, otherHead, options);
        const all = libtorchLinear(hidden, head, null).div(0.7).logSoftmax(-1);
        const reference = libtorchLinear(other, otherHead, null).div(0.7).logSoftmax(-1);
        const theirs = [
          all.gather(1, targets.unsqueeze(1)).squeeze(1),
          all.exp().mul(all).sumDim([-1]).neg(),
          all.exp().mul(all.sub(reference)).sumDim([-1]),
        ];
        const weights = theirs.map(() => random(8));
        const own = grad(ours, [hidden, head], weights);
        for (const [i, value] of theirs.entries())
          expect(distance(ours[i]!.detach(), value.detach())).toBeLessThan(1e-5);
        for (const [i, gradient] of grad(theirs, [hidden, head], weights).entries())
          expect(distance(own[i]!, gradient!)).toBeLessThan(1e-5);
      });
    },
  );
});
