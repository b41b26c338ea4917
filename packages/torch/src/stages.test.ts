import { afterEach, describe, expect, it } from 'vitest';
import {
  addNorm,
  type DType,
  empty,
  gatedActivation,
  getThreads,
  linear,
  noGrad,
  ones,
  packedLinear,
  packLinear,
  Recording,
  rmsNorm,
  setThreads,
  silu,
  synchronize,
  type Tensor,
  tidy,
} from './index.js';

const random = (dtype: DType, ...shape: number[]) => empty(shape).uniform_(-1, 1).to(dtype);

/** A block of a decoder's, [N, 48] → [N, 48], by operators of ours, `between` which something may be done, or by libtorch's. */
function block(dtype: DType) {
  const [weight, up, down] = [random(dtype, 48), random(dtype, 2 * 80, 48), random(dtype, 48, 80)];
  const [packedUp, packedDown] = [packLinear(up), packLinear(down)];
  const half = (x: Tensor) => x.splitWithSizes([80, 80], -1) as [Tensor, Tensor];
  return {
    ours(x: Tensor, delta: Tensor, between = () => {}): [Tensor, Tensor] {
      // What a scope frees is still to be read when the block is computed.
      return tidy(() => {
        const [sum, normed] = addNorm(x, delta, weight, null, 1e-6) as [Tensor, Tensor];
        between();
        const [gate, factor] = half(packedLinear(normed, packedUp, 160));
        between();
        const activated = gatedActivation(gate, factor, 'silu');
        between();
        return [sum, packedLinear(activated, packedDown, 48)] as [Tensor, Tensor];
      });
    },
    theirs(x: Tensor, delta: Tensor): [Tensor, Tensor] {
      const sum = x.add(delta);
      const [gate, factor] = half(linear(rmsNorm(sum, weight, 1e-6), up));
      return [sum, linear(silu(gate).mul(factor), down)];
    },
  };
}

/** Four blocks, one after another. */
function blocks(
  [x, delta]: readonly [Tensor, Tensor],
  one: (x: Tensor, delta: Tensor) => [Tensor, Tensor],
): [Tensor, Tensor] {
  let both: [Tensor, Tensor] = [x, delta];
  for (let i = 0; i < 4; i++) both = one(...both);
  return both;
}

const distance = (a: Tensor, b: Tensor) => a.sub(b).abs().amax([]).item() / b.abs().amax([]).item();

describe('operators that wait for one another', () => {
  const threads = getThreads();
  afterEach(() => setThreads(threads));

  // Rows for one thread, for several, and for more than may wait; a team, and one with more members than cores.
  it.each([
    ['float32', 1, 2, 1e-5],
    ['float32', 64, 2, 1e-5],
    ['float32', 64, 5, 1e-5],
    ['float32', 3000, 2, 1e-5],
    ['bfloat16', 64, 2, 0.05],
  ] as const)(
    'compute in %s, of %d rows on %d threads, what they do one by one',
    (dtype, rows, members, bound) => {
      noGrad(() =>
        tidy(() => {
          const { ours, theirs } = block(dtype);
          const start = [random(dtype, rows, 48), random(dtype, rows, 48)] as const;
          setThreads(members);
          const together = blocks(start, ours).map((x) => x.toBytes());
          const recorded = new Recording((x, delta) => blocks([x!, delta!], ours)[1]);
          const [first, again] = [recorded.run(...start), recorded.run(...start)];
          recorded.dispose();
          setThreads(1);
          const apart = blocks(start, (x, delta) => ours(x, delta, synchronize));
          const expected = blocks(start, theirs);
          for (const result of [first, again])
            expect(Buffer.compare(result.toBytes(), apart[1]!.toBytes())).toBe(0);
          for (const i of [0, 1]) {
            expect(Buffer.compare(together[i]!, apart[i]!.toBytes())).toBe(0);
            expect(distance(apart[i]!, expected[i]!)).toBeLessThan(bound);
          }
        }),
      );
    },
  );

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
