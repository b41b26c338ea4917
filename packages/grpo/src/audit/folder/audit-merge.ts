/** A merged model beside base and adapter. */
import { type Tensor, tensor } from '@grpo/torch';
import { uniform } from '../../maths/random.js';
import { Watch } from '../../progress/watch.js';
import type { Comparison } from '../../trace/index.js';
import { type Pair, worstOf } from '../worst.js';
import { PlainMerge } from './plain-merge.js';
import { StoredTensors } from './stored-tensors.js';

/** Elements of each tensor that are computed again. */
const ELEMENTS = 16;

/** Largest relative error of one rounding to a number type; sums are float32 at most. */
const ROUNDING: Readonly<Record<string, number>> = {
  F64: 2 ** -24,
  F32: 2 ** -24,
  F16: 2 ** -11,
  BF16: 2 ** -8,
};

/** The least number above 0 that a type has, where weights come near it. */
const LEAST: Readonly<Record<string, number>> = { F16: 2 ** -24 };

/** The folders of a model and of an adapter. */
export interface Addends {
  base: string;
  adapter: string;
}

/**
 * Holds elements of each tensor of a merged model to the sum of the two.
 *
 * @returns the comparison, with the element that lies furthest off
 */
export function auditMerge({ merged, ...addends }: Addends & { merged: string }, watch = new Watch()) {
  using plain = new PlainMerge(addends);
  using written = StoredTensors.ofModel(merged);
  const { names } = written;
  const pairs = names.flatMap((name, done): Pair[] => {
    watch.report({ stage: 'audit', done, total: names.length, unit: 'tensors' });
    const places = placesIn(written.shapeOf(name)!.reduce((product, size) => product * size, 1));
    return compareSums(plain, name, places, written.elements(name, places), written.typeOf(name)!);
  });
  return worstOf('model', 'element of a merged tensor', pairs)[0]!;
}

/** The comparison of one weight with an adapter added, float32 and as a model folder has it, with the sum of the two. */
export function compareSum(plain: PlainMerge, name: string, sum: Tensor): Comparison {
  const places = placesIn(sum.numel);
  const index = tensor(places, undefined, { dtype: 'int64' });
  const found = sum.flatten().indexSelect(0, index).toNumbers();
  return worstOf('model', 'element of a merged tensor', compareSums(plain, name, places, found, 'F32'))[0]!;
}

/** Some elements of a tensor of so many. */
const placesIn = (count: number): number[] =>
  Array.from({ length: Math.min(ELEMENTS, count) }, (_, i) => Math.floor(count * uniform(i)));

/** Elements of a tensor, of a number type, beside those of the sum. */
function compareSums(
  plain: PlainMerge,
  name: string,
  places: readonly number[],
  found: readonly number[],
  type: string,
): Pair[] {
  const sums = plain.elements(name, places);
  if (!sums) return [{ found: 'written', plain: 'not in the base', bound: 0, tensor: name }];
  return sums.map(({ value, size, products }, i) => {
    // The weight is rounded when it is read, the sum when it is written; the products are summed in float32.
    const bound = size * (2 * ROUNDING[type]! + products * ROUNDING.F32!) + (LEAST[type] ?? 0);
    return { found: found[i]!, plain: value, bound, tensor: name };
  });
}
