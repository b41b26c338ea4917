import { type DType, full, Generator, inferenceMode, Tensor, tensor } from '../index.js';
import type { Random } from './random.test.helper.js';

/** Objects that the calls of one episode draw their arguments from. */
export interface World {
  random: Random;
  tensors: Tensor[];
  disposed: Tensor[];
  generators: Generator[];
}

const dtypes: DType[] = [
  'float32', 'float32', 'float32', 'float32', 'bfloat16', 'float16', 'float64',
  'int64', 'int32', 'int16', 'int8', 'uint8', 'bool',
]; // biome-ignore format: a table

const shapes = [
  [], [0], [1], [3], [3], [5], [3, 3], [3, 3], [2, 3], [4, 4], [0, 3], [2, 0], [1, 3], [3, 1], [33, 17],
  [2, 3, 3], [2, 3, 4], [1, 2, 3, 4], [2, 2, 3, 3], [2, 0, 3, 3], [1, 1, 1, 1, 1, 1], [300],
]; // biome-ignore format: a table

/** A tensor of small whole numbers, with now and then a NaN or an infinity. */
export function fresh(random: Random, shape = random.pick(shapes), dtype = random.pick(dtypes)): Tensor {
  const numel = shape.reduce((a, b) => a * b, 1);
  const whole = !dtype.includes('float');
  const wild = random.chance(0.1) ? [Number.NaN, Number.POSITIVE_INFINITY, 1e30, -0] : [];
  const values = random.list(numel, () => {
    if (dtype === 'bool' || dtype === 'uint8') return random.below(2);
    return whole || wild.length === 0 || random.chance(0.7) ? random.below(7) - 2 : random.pick(wild);
  });
  return tensor(values, shape, { dtype });
}

/** Indices, most of them within 0 … 2. */
export function indices(random: Random, shape: readonly number[] = random.pick(shapes)): Tensor {
  const numel = shape.reduce((a, b) => a * b, 1);
  const outside = random.chance(0.3) ? [3, -1, 1000, 2 ** 31, -(2 ** 31), 2 ** 53 - 1, 2 ** 32] : [];
  const values = random.list(numel, () =>
    outside.length > 0 && random.chance(0.3) ? random.pick(outside) : random.below(3),
  );
  return tensor(values, shape, { dtype: random.chance(0.9) || outside.length > 0 ? 'int64' : 'int32' });
}

/** Segments of so many tokens, of which some continue others; now and then one is wrong. */
export function segments(random: Random, tokens: number): Tensor {
  const rows: number[][] = [];
  for (let start = 0; start < tokens; ) {
    const length = 1 + random.below(tokens - start);
    const parent = rows.length > 0 && random.chance(0.5) ? rows[0]!.slice(0, 2) : [0, 0];
    rows.push([start, length, ...parent]);
    start += length;
  }
  if (rows.length > 0 && random.chance(0.3))
    random.pick(rows)[random.below(4)] = random.pick([0, 1, -1, 5, 2 ** 40, -(2 ** 53 - 1), 2 ** 53 - 1]);
  return tensor(rows.flat(), [rows.length, 4], { dtype: 'int64' });
}

/** The same elements in an unusual place: transposed, repeated without copying, a window that others overlap, a leaf. */
export function disguise(random: Random, x: Tensor): Tensor {
  const rank = x.shape.length;
  switch (random.below(6)) {
    case 0:
      return rank >= 2 ? x.transpose(0, rank - 1) : x;
    case 1:
      return x.unsqueeze(0).expand([random.below(4), ...x.shape]);
    case 2:
      return rank > 0 && x.size(0) > 1 ? x.narrow(0, random.below(2), x.size(0) - 1) : x;
    case 3: {
      const leaf = x.detach().clone();
      if (leaf.dtype.includes('float')) leaf.requiresGrad = true;
      return leaf;
    }
    case 4:
      return inferenceMode(() => x.mul(1));
    default:
      return x;
  }
}

export function createWorld(random: Random): World {
  const tensors = random.list(16, () =>
    disguise(random, random.chance(0.8) ? fresh(random) : indices(random)),
  );
  const gone = full([2, 3], 1.5);
  gone.dispose();
  return { random, tensors, disposed: [gone], generators: [new Generator(1), new Generator(2)] };
}

// Long ones are not computed with again: a sum over 2^40 repeated elements is valid, and takes hours.
const MOST_ELEMENTS = 2 ** 14;

/** Makes a result an argument of later calls. */
export function remember({ random, tensors }: World, result: unknown): void {
  for (const value of Array.isArray(result) ? result.slice(0, 3) : [result])
    if (value instanceof Tensor && value.numel <= MOST_ELEMENTS)
      tensors[random.below(tensors.length)] = value;
}
