import { describe, expect, it } from 'vitest';
import {
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

describe('linear', () => {
  // Wide and narrow outputs take different ways through the gradient of the weight.
  it.each([
    [5, 7, 3],
    [40, 16, 64],
    [64, 64, 16],
    [1, 8, 300],
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

  // Where oneDNN has no bfloat16, a weight of more than four million numbers is multiplied in parts.
  it.each([
    [5, 48, 33],
    [2, 64, 70_000],
  ])(
    'of bfloat16, %d rows from %d to %d numbers, is that of float32, with its gradients',
    (rows, from, to) => {
      tidy(() => {
        const narrow = [random(rows, from), random(to, from), random(to)].map((t) => t.to('bfloat16'));
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
          for (const [from, count] of [
            [0, 1],
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
  /** Log-probs, entropies and the gradients of both, as float64 has them. */
  function expected(hidden: Tensor, head: Tensor, targets: Tensor, weights: Tensor[], temperature: number) {
    const [h, w] = [hidden, head].map((t) => t.detach().to('float64')) as [Tensor, Tensor];
    for (const input of [h, w]) input.requiresGrad = true;
    const all = h.matmul(w.t()).div(temperature).logSoftmax(-1);
    const scores = [all.gather(1, targets.unsqueeze(1)).squeeze(1), all.exp().mul(all).sumDim([-1]).neg()];
    const gradients = grad(
      scores.slice(0, weights.length),
      [h, w],
      weights.map((t) => t.to('float64')),
    );
    return [...scores, ...gradients].map((t) => t!.detach().to('float32'));
  }

  // 83 tokens: a row ends within a vector. One chunk keeps its logits for the backward pass, three do not.
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
        const theirs = expected(hidden, head, targets, weights, temperature);
        for (const [i, value] of [ours[0]!, ours[1]!, ...gradients].entries())
          expect(distance(value!.detach().to('float32'), theirs[i]!)).toBeLessThan(
            dtype === 'float32' ? 3e-6 : 0.06,
          );
        // The saved tensors have not changed.
        for (const [i, again] of grad(scores, [hidden, head], weights).entries())
          expect(again!.toNumbers()).toEqual(gradients[i]!.toNumbers());
      });
    },
  );

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
