import { beforeEach, describe, expect, it } from 'vitest';
import {
  cat,
  cpuLevels,
  type DType,
  empty,
  gatedActivation,
  gelu,
  getThreads,
  grad,
  layerNorm,
  manualSeed,
  noGrad,
  rmsNorm,
  rotate,
  setThreads,
  silu,
  type Tensor,
  tensor,
  tidy,
} from './index.js';

beforeEach(() => manualSeed(1));

const random = (...shape: number[]) => empty(shape).uniform_(-2, 2);

/** Largest difference relative to the largest number. */
function distance(ours: Tensor, theirs: Tensor): number {
  expect(ours.shape).toEqual(theirs.shape);
  const wide = theirs.detach().to('float64');
  return ours.detach().to('float64').sub(wide).abs().amax([]).item() / wide.abs().amax([]).item();
}

/** On one thread and on two: no sum of ours depends on it. */
function onAnyThreads(run: () => readonly Tensor[]): readonly Tensor[] {
  const before = getThreads();
  try {
    const [one, two] = [1, 2].map((threads) => {
      setThreads(threads);
      return run();
    }) as [readonly Tensor[], readonly Tensor[]];
    for (const [i, t] of one.entries()) expect(Buffer.compare(t.toBytes(), two[i]!.toBytes())).toBe(0);
    return one;
  } finally {
    setThreads(before);
  }
}

type Part = (...inputs: Tensor[]) => Tensor;

/** Values and gradients of `part` beside those of the plain formula in float64. */
function hold(part: Part, formula: Part, values: readonly Tensor[], bounds: [value: number, slope: number]) {
  const leaf = (t: Tensor) => {
    const copy = t.detach().clone();
    copy.requiresGrad = true;
    return copy;
  };
  const exact = values.map((t) => leaf(t.to('float64')));
  const expected = formula(...exact);
  const weight = random(...expected.shape).to(values[0]!.dtype);
  const slopes = grad([expected], exact, [weight.to('float64')]);
  const own = values.map(leaf);
  const run = () => {
    const y = part(...own);
    return [y, ...(grad([y], own, [weight]) as Tensor[])];
  };
  const isOurs = values[0]!.dtype !== 'float64';
  const [value, ...gradients] = isOurs ? onAnyThreads(run) : run();
  expect(value!.dtype).toBe(values[0]!.dtype);
  expect(distance(value!, expected)).toBeLessThan(bounds[0]);
  for (const [i, slope] of slopes.entries()) expect(distance(gradients[i]!, slope!)).toBeLessThan(bounds[1]);
  // With a gradient or without one.
  const plain = noGrad(() => part(...own));
  expect(Buffer.compare(plain.toBytes(), value!.toBytes())).toBe(0);
}

const plainRms = (eps: number) => (x: Tensor, weight: Tensor) =>
  x.div(x.mul(x).meanDim([-1], true).add(eps).sqrt()).mul(weight);

function plainLayerNorm(eps: number): Part {
  return (x, weight, bias) => {
    const off = x!.sub(x!.meanDim([-1], true));
    return off
      .div(off.mul(off).meanDim([-1], true).add(eps).sqrt())
      .mul(weight!)
      .add(bias!);
  };
}

function plainTurn(x: Tensor, cos: Tensor, sin: Tensor): Tensor {
  const pairs = cos.size(-1);
  const [a, b] = [x.narrow(2, 0, pairs), x.narrow(2, pairs, pairs)];
  const rest = x.narrow(2, 2 * pairs, x.size(2) - 2 * pairs);
  return cat([a.mul(cos).sub(b.mul(sin)), b.mul(cos).add(a.mul(sin)), rest], 2);
}

const kinds: [DType, number, number][] = [
  ['float32', 1e-6, 2e-6],
  ['bfloat16', 2 ** -8, 2 ** -7],
  ['float64', 1e-14, 1e-13],
];

describe(`parts of a layer, at ${cpuLevels().chosen}`, () => {
  describe.each(kinds)('in %s', (dtype, value, slope) => {
    it.each([
      [1, 3],
      [5, 8],
      [3, 50],
      [200, 130],
      [70, 896],
    ])('RMS norm of [%d, %d] is its formula, with its gradients', (rows, width) => {
      tidy(() => {
        const [x, weight] = [random(rows, width).to(dtype), random(width).to(dtype)];
        hold((a, w) => rmsNorm(a, w, 1e-2), plainRms(1e-2), [x, weight], [value, slope]);
        hold((a, w) => rmsNorm(a, w, 1e-6), plainRms(1e-6), [x.mul(1e-4), weight], [value, slope]);
      });
    });

    it.each([
      [1, 3],
      [5, 8],
      [3, 50],
      [200, 130],
      [3000, 70],
      [70, 896],
    ])('layer norm of [%d, %d] is its formula, with its gradients', (rows, width) => {
      tidy(() => {
        const [weight, bias] = [random(width).to(dtype), random(width).to(dtype)];
        const norm: Part = (a, w, b) => layerNorm(a!, w!, b!, 1e-2);
        const near = [random(rows, width).to(dtype), weight, bias];
        hold(norm, plainLayerNorm(1e-2), near, [value, slope]);
        // 60 from 0 a mean in float32 is rounded to steps of 60 × 2⁻²⁴; a mean of squares less its square, to 60 times as many.
        const far = 60 * (dtype === 'float64' ? 2 ** -53 : 2 ** -24);
        const away = [random(rows, width).add(60).to(dtype), weight, bias];
        hold(norm, plainLayerNorm(1e-2), away, [value + far, slope + far]);
        const wide = dtype === 'bfloat16' ? 'float32' : dtype;
        const values = [random(rows, width).to(dtype), weight.to(wide), bias.to(wide)];
        hold((a, w, b) => layerNorm(a, w, b, 1e-6), plainLayerNorm(1e-6), values, [value, slope]);
      });
    });

    it('RMS norm of heads takes factors in float32', () => {
      tidy(() => {
        const [x, weight] = [
          random(6, 4, 24).to(dtype),
          random(24).to(dtype === 'bfloat16' ? 'float32' : dtype),
        ];
        hold((a, w) => rmsNorm(a, w, 1e-6), plainRms(1e-6), [x, weight], [value, slope]);
        // A part of wider rows.
        const joined = random(6, 4, 30).to(dtype);
        hold((a, w) => rmsNorm(a.narrow(2, 3, 24), w, 1e-6), (a, w) => plainRms(1e-6)(a.narrow(2, 3, 24), w), [joined, weight], [value, slope]); // biome-ignore format: a pair
      });
    });

    it.each([
      [7, 3, 8, 4],
      [5, 2, 64, 32],
      [90, 14, 64, 32],
      [4, 2, 48, 6],
      [3, 1, 50, 25],
    ])('%d tokens of %d heads of %d, %d pairs turned', (tokens, heads, width, pairs) => {
      tidy(() => {
        const angles = random(tokens, 1, pairs);
        const [cos, sin] = [angles.cos().to(dtype), angles.sin().to(dtype)];
        const [c, s] = [cos.to('float64'), sin.to('float64')];
        const part = (x: Tensor) => x.narrow(1, 1, heads);
        const x = random(tokens, heads + 2, width).to(dtype);
        hold((a) => rotate(part(a), cos, sin), (a) => plainTurn(part(a), c, s), [x], [value, slope]); // biome-ignore format: a pair
      });
    });

    it.each([
      [1, 5],
      [9, 75],
      [130, 300],
    ])('activations of [%d, %d], gated and plain', (rows, width) => {
      tidy(() => {
        const [gate, up] = [random(rows, width).mul(3).to(dtype), random(rows, width).to(dtype)];
        const formulas = { silu, gelu_tanh: (x: Tensor) => gelu(x, { approximate: 'tanh' }) };
        for (const [name, formula] of Object.entries(formulas)) {
          hold((x) => gatedActivation(x, null, name), formula, [gate], [value, slope]);
          hold((x, y) => gatedActivation(x, y, name), (x, y) => formula(x!).mul(y!), [gate, up], [value, slope]); // biome-ignore format: a pair
          const halves = (t: Tensor) => t.splitWithSizes([width, width], -1) as [Tensor, Tensor];
          const joined = random(rows, 2 * width).to(dtype);
          hold((t) => gatedActivation(...halves(t), name), (t) => { const [x, y] = halves(t); return formula(x).mul(y); }, [joined], [value, slope]); // biome-ignore format: a pair
        }
      });
    });
  });

  it('RMS norm of rows in float32 with factors in bfloat16 rounds neither', () => {
    tidy(() => {
      const [x, weight] = [random(9, 40), random(40).to('bfloat16')];
      expect(distance(rmsNorm(x, weight, 1e-6), plainRms(1e-6)(x.to('float64'), weight.to('float64')))).toBeLessThan(1e-6); // biome-ignore format: a pair
    });
  });

  it('slopes of activations are 0 and 1 far out, and no number of none', () => {
    tidy(() => {
      const x = tensor([-1e30, -100, 100, 1e30, Number.NaN], [1, 5]);
      x.requiresGrad = true;
      for (const name of ['silu', 'gelu_tanh']) {
        const [slope] = grad([gatedActivation(x, null, name).sum()], [x]) as [Tensor];
        expect(slope.toNumbers().map((y) => y + 0)).toEqual([0, 0, 1, 1, Number.NaN]);
      }
    });
  });

  it('say that they have no second derivative', () => {
    tidy(() => {
      const x = random(2, 8);
      x.requiresGrad = true;
      const angle = random(2, 1, 2);
      const parts: Part[] = [
        (a) => layerNorm(a, random(8), random(8), 1e-6),
        (a) => rmsNorm(a, random(8), 1e-6),
        (a) => rotate(a.view([2, 2, 4]), angle, angle),
        (a) => gatedActivation(a, null, 'silu'),
      ];
      for (const part of parts)
        expect(() => grad([part(x).sum()], [x], undefined, { createGraph: true })).toThrow(
          /has no second derivative/,
        );
    });
  });

  it('refuse what does not fit', () => {
    tidy(() => {
      const x = random(2, 8);
      expect(() => rmsNorm(x, random(4), 1e-6)).toThrow(
        /weight must be as long as the input's last dimension/,
      );
      expect(() => layerNorm(x, random(8), random(4), 1e-6)).toThrow(/bias must be as long as/);
      expect(() => layerNorm(x, random(8), random(8).to('bfloat16'), 1e-6)).toThrow(/bias must be Float as/);
      expect(() => rotate(x, x, x)).toThrow(/input is \[N, heads, width\]/);
      expect(() => rotate(random(2, 1, 4), random(2, 1, 3), random(2, 1, 3))).toThrow(/cos and sin are/);
      expect(() => gatedActivation(x, random(2, 4), 'silu')).toThrow(/up must be Float \[2, 8\]/);
      expect(() => gatedActivation(x, null, 'relu')).toThrow(/silu or gelu_tanh, found relu/);
    });
  });
});
