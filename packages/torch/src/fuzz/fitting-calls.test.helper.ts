import { type DType, noGrad, packLinear, type Tensor, tensor } from '../index.js';
import { foreign } from './foreign.test.helper.js';
import type { Random } from './random.test.helper.js';
import { fresh, segments, type World } from './world.test.helper.js';

/** Half of the time a leaf, for calls that go through an operator's backward pass too. */
function leaf(random: Random, shape: number[], dtype: DType): Tensor {
  const x = fresh(random, shape, dtype);
  if (random.chance(0.5)) x.requiresGrad = true;
  return x;
}

/** Numbers of a linear layer, and its dtype. */
const layer = (random: Random) => ({
  inputs: random.below(40),
  outputs: 1 + random.below(40),
  dtype: random.pick(['float32', 'float32', 'bfloat16', 'float64'] as const),
});

/** What becomes of attention's scores; now and then what is refused. */
const scores = (random: Random) => ({
  scale: random.pick([null, 0.3, 0, -1, random.chance(0.1) ? Number.NaN : 1]),
  window: random.pick([0, 1, 3, 17, 2 ** 53 - 1, random.chance(0.1) ? -1 : 5]),
  softcap: random.pick([0, 50, 1e-40, 1e30, random.chance(0.1) ? Number.NaN : 1]),
});

/** Arguments that chance would never make fit together, for operators with many shapes in common. */
const fit: Record<string, (world: World) => unknown[]> = {
  decodeAttention: ({ random }) => {
    const dtype = random.pick(['float32', 'bfloat16'] as const);
    const of = (...shape: number[]) => fresh(random, shape, dtype);
    const [n, kvHeads, width] = [random.below(4), 1 + random.below(3), random.pick([2, 16, 24])];
    const [places, prompts, blocks, promptBlocks] = [
      4,
      1 + random.below(2),
      1 + random.below(3),
      random.below(3),
    ];
    const padded = 16 * Math.ceil(width / 16);
    const entry = (end: number) =>
      random.chance(0.97) ? random.below(end) : random.pick([-1, end, 2 ** 53 - 1]);
    const rows = random
      .list(n, () => 0)
      .flatMap((_, i) => [
        random.chance(0.97) ? i : entry(places),
        entry(prompts),
        entry(16 * promptBlocks + 1),
        entry(16 * blocks),
      ]);
    const [turned, normed] = [random.chance(0.5), random.chance(0.5)];
    const factors = random.pick([dtype, 'float32'] as const);
    const half = random.chance(0.95) ? 1 + random.below(width / 2) : random.pick([0, width]);
    return [
      of(n, kvHeads * width * (1 + random.below(5))),
      of(n, kvHeads * width),
      of(n, kvHeads * width),
      of(places, kvHeads, blocks, padded, 16),
      of(places, kvHeads, 16 * blocks, padded),
      of(prompts, kvHeads, promptBlocks, padded, 16),
      of(prompts, kvHeads, 16 * promptBlocks, padded),
      tensor(rows, [n, 4], { dtype: 'int64' }),
      turned ? of(n, 1, half) : null,
      turned ? of(n, 1, half) : null,
      normed ? fresh(random, [width], factors) : null,
      normed ? fresh(random, [width], random.chance(0.95) ? factors : dtype) : null,
      1e-6,
      scores(random),
    ]; // biome-ignore format: in the order of the schema
  },
  fusedAdamW_: ({ random }) => {
    const shape = [1 + random.below(4)];
    const of = (size: number[]) => [fresh(random, size, 'float32')];
    const [beta1, beta2, eps] = [0.9, 0.99, 1e-8];
    const numbers = { lr: 0.1, beta1, beta2, weight_decay: 0, eps, amsgrad: false, maximize: false };
    return [of(shape), of(shape), of(shape), of(shape), [], of([]), numbers];
  },
  linear: ({ random }) => {
    const { inputs, outputs, dtype } = layer(random);
    const bias = random.chance(0.5) ? leaf(random, [outputs], dtype) : null;
    return [leaf(random, [random.below(4), inputs], dtype), leaf(random, [outputs, inputs], dtype), bias];
  },
  packLinear: ({ random }) => {
    const { inputs, outputs, dtype } = layer(random);
    return [fresh(random, [outputs, inputs], dtype)];
  },
  packedLinear: ({ random }) => {
    const { inputs, outputs, dtype } = layer(random);
    const packed = noGrad(() => packLinear(fresh(random, [outputs, inputs], dtype)));
    const bias = random.chance(0.5) ? fresh(random, [outputs], dtype) : null;
    const stated = random.chance(0.9) ? outputs : random.pick([0, -1, outputs + 1, 16, 2 ** 53 - 1]);
    return [fresh(random, [random.below(40), inputs], dtype), packed, stated, bias];
  },
  tokenScores: ({ random }) => {
    const [tokens, width, vocab] = [1 + random.below(5), 1 + random.below(8), 1 + random.below(40)];
    const dtype = random.pick(['float32', 'bfloat16', 'float64'] as const);
    const id = () => (random.chance(0.98) ? random.below(vocab) : random.pick([-1, vocab, 2 ** 53 - 1]));
    const side = (): Tensor[] => [leaf(random, [tokens, width], dtype), leaf(random, [vocab, width], dtype)];
    const targets = tensor(random.list(tokens, id), [tokens], { dtype: 'int64' });
    const options = {
      temperature: random.chance(0.9) ? random.pick([1, 0.5, 1e-40]) : random.pick([0, -1, Number.NaN]),
      chunk: random.chance(0.9) ? random.pick([1, 2, 64, 2 ** 53 - 1]) : random.pick([0, -1]),
      entropy_gradient: random.chance(0.5),
    };
    return [...side(), targets, ...(random.chance(0.5) ? side() : [null, null]), options];
  },
  segmentAttention: ({ random }) => {
    const dtype = random.pick(['float32', 'bfloat16'] as const);
    const [tokens, kvHeads, width] = [random.below(9), 1 + random.below(3), random.pick([1, 16, 24])];
    const of = (heads: number) => leaf(random, [tokens, heads, width], dtype);
    const heads = kvHeads * (1 + random.below(3));
    return [of(heads), of(kvHeads), of(kvHeads), segments(random, tokens), scores(random)];
  },
  addNorm: ({ random }) => {
    const dtype = random.pick(['float32', 'bfloat16'] as const);
    const [n, width] = [random.below(4), 1 + random.below(40)];
    const row = () => (random.chance(0.5) ? fresh(random, [width], dtype) : null);
    const x = fresh(random, [n, width], dtype);
    const weight = random.chance(0.9) ? fresh(random, [width], random.pick([dtype, 'float32'])) : null;
    const options = { factor: random.pick([1, 0.2, Number.NaN]) };
    return [x, random.chance(0.5) ? x : null, weight, row(), 1e-6, options];
  },
  layerNorm: ({ random }) => {
    const dtype = random.pick(['float32', 'bfloat16', 'float64'] as const);
    const width = 1 + random.below(40);
    const [x, type] = [
      leaf(random, [random.below(4), width], dtype),
      random.pick([dtype, 'float32'] as const),
    ];
    const [weight, bias] = [leaf(random, [width], type), leaf(random, [width], type)];
    return [x, weight, bias, random.pick([1e-6, 0, Number.NaN])];
  },
  rmsNorm: ({ random }) => {
    const dtype = random.pick(['float32', 'bfloat16', 'float64'] as const);
    const width = 1 + random.below(40);
    const x = leaf(random, [random.below(4), width], dtype);
    return [x, leaf(random, [width], random.pick([dtype, 'float32'])), random.pick([1e-6, 0, Number.NaN])];
  },
  rotate: ({ random }) => {
    const dtype = random.pick(['float32', 'bfloat16', 'float64'] as const);
    const [tokens, pairs] = [random.below(4), random.below(20)];
    const angles = () => fresh(random, [tokens, 1, pairs], random.chance(0.9) ? dtype : 'float32');
    return [leaf(random, [tokens, random.below(4), random.below(60)], dtype), angles(), angles()];
  },
  gatedActivation: ({ random }) => {
    const dtype = random.pick(['float32', 'bfloat16', 'float64'] as const);
    const gate = leaf(random, [random.below(4), random.below(40)], dtype);
    return [gate, random.chance(0.5) ? gate : null, random.pick(['silu', 'gelu_tanh', 'relu'])];
  },
  drawTokens: ({ random }) => {
    const [n, vocab] = [random.below(4), 1 + random.below(600)];
    const hostile = (good: number) => (random.chance(0.97) ? good : random.pick([-1, Number.NaN, 1e300]));
    // Temperature, top-k, top-p, min-p, three penalties, and whether the row may end.
    const rules = random.list(n, () => [
      hostile(random.pick([0, 1, 0.5, 1e-40])),
      hostile(random.pick([0, 1, 7, 2 ** 53 - 1])),
      hostile(random.pick([1, 0.5, 1e-40])),
      hostile(random.pick([0, 0.1, 1])),
      hostile(random.pick([1, 2])),
      ...[hostile(random.pick([0, 0.5])), hostile(0), random.below(2)],
    ]);
    const ids = random.list(random.below(6), () =>
      random.chance(0.98) ? random.below(vocab) : random.pick([-1, vocab, 2 ** 53 - 1]),
    );
    const offsets = [
      0,
      ...random.list(Math.max(0, n - 1), () => random.below(ids.length + 1)).sort(),
      ids.length,
    ];
    const int64 = (values: number[]) => tensor(values, [values.length], { dtype: 'int64' });
    const seen = random.chance(0.5) ? { generated: int64(ids), generated_offsets: int64(offsets) } : {};
    const forbidden = random.chance(0.5) ? fresh(random, [vocab], 'bool') : null;
    // Uniform numbers beyond [0, 1) as well: whatever comes, a token of the vocabulary is drawn.
    return [
      fresh(random, [n, vocab], 'float32'),
      fresh(random, [n], 'float64'),
      tensor(rules.flat(), [n, 8], { dtype: 'float64' }),
      { forbidden, support: random.chance(0.5), ...seen },
    ];
  },
};

/** Fitting arguments for most calls of such an operator; undefined for all others. */
export function fitting(world: World, name: string): unknown[] | undefined {
  return fit[name] && world.random.chance(0.7) ? fitted(world, name) : undefined;
}

/** Fitting arguments for an operator of the table, now and then with one that is not. */
export function fitted(world: World, name: string): unknown[] {
  const { random } = world;
  const args = fit[name]!(world);
  const spoilt = random.below(args.length);
  if (random.chance(0.3))
    args[spoilt] = random.chance(0.5) ? foreign(world) : (random.pick(world.tensors) as Tensor);
  return args;
}
