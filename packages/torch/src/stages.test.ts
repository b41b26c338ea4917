import { describe, expect, it } from 'vitest';
import {
  addNorm,
  type DType,
  empty,
  gatedActivation,
  linear,
  noGrad,
  ones,
  packedLinear,
  packLinear,
  rmsNorm,
  silu,
  synchronize,
  type Tensor,
  tidy,
} from './index.js';

const random = (dtype: DType, ...shape: number[]) => empty(shape).uniform_(-1, 1).to(dtype);

/** A block of a decoder's, [N, 48] → [N, 48], by operators of ours or by libtorch's. */
function block(dtype: DType) {
  const [weight, up, down] = [random(dtype, 48), random(dtype, 2 * 80, 48), random(dtype, 48, 80)];
  const [packedUp, packedDown] = [packLinear(up), packLinear(down)];
  const half = (x: Tensor) => x.splitWithSizes([80, 80], -1) as [Tensor, Tensor];
  return {
    ours(x: Tensor, delta: Tensor): [Tensor, Tensor] {
      // What a scope frees is still to be read when the block is computed.
      return tidy(() => {
        const [sum, normed] = addNorm(x, delta, weight, null, 1e-6) as [Tensor, Tensor];
        const [gate, factor] = half(packedLinear(normed, packedUp, 160));
        return [sum, packedLinear(gatedActivation(gate, factor, 'silu'), packedDown, 48)] as [Tensor, Tensor];
      });
    },
    theirs(x: Tensor, delta: Tensor): [Tensor, Tensor] {
      const sum = x.add(delta);
      const [gate, factor] = half(linear(rmsNorm(sum, [48], weight, 1e-6), up));
      return [sum, linear(silu(gate).mul(factor), down)];
    },
  };
}

const distance = (a: Tensor, b: Tensor) => a.sub(b).abs().amax([]).item() / b.abs().amax([]).item();

describe('operators that wait for one another', () => {
  // Rows for one thread, for several, and for more than may wait.
  it.each([
    ['float32', 1, 1e-5],
    ['float32', 64, 1e-5],
    ['float32', 3000, 1e-5],
    ['bfloat16', 64, 0.05],
  ] as const)('compute in %s, of %d rows, what they do one by one', (dtype, rows, bound) => {
    noGrad(() =>
      tidy(() => {
        const { ours, theirs } = block(dtype);
        const start = [random(dtype, rows, 48), random(dtype, rows, 48)] as const;
        let [together, apart, expected] = [start, start, start] as (readonly [Tensor, Tensor])[];
        for (let layer = 0; layer < 4; layer++) {
          together = ours(...together!);
          apart = ours(...apart!);
          synchronize();
          expected = theirs(...expected!);
        }
        for (const i of [0, 1]) {
          expect(Buffer.compare(together![i]!.toBytes(), apart![i]!.toBytes())).toBe(0);
          expect(distance(together![i]!, expected![i]!)).toBeLessThan(bound);
        }
      }),
    );
  });

  it('have read their input before another operator writes it, and written before one reads', () => {
    tidy(() => {
      const [x, weight] = [ones([2, 16]), random('float32', 16, 16)];
      const packed = packLinear(weight);
      const expected = linear(x, weight);
      const found = packedLinear(x, packed, 16);
      x.mul_(3);
      expect(distance(found, expected)).toBeLessThan(1e-5);
      const turned = packedLinear(packedLinear(x, packed, 16).t(), packLinear(ones([1, 2])), 1);
      const both = linear(linear(x, weight).t(), ones([1, 2]));
      expect(distance(turned, both)).toBeLessThan(1e-5);
    });
  });
});
