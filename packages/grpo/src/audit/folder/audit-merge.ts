/** A merged model beside base and adapter, all read from their files a second time. */
import { join } from 'node:path';
import { uniform } from '../../maths/random.js';
import { Watch } from '../../progress/watch.js';
import { type Pair, worstOf } from '../worst.js';
import { ADAPTER_PREFIX, isTurned, StoredTensors } from './stored-tensors.js';
import { jsonIn } from './told-by-files.js';

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

/** The folders of a merge. */
export interface Merge {
  base: string;
  adapter: string;
  merged: string;
}

/**
 * Holds elements of each tensor of a merged model to W + alpha / r · B A, of the base's W and the adapter's A and B (Hu et
 * al., 2021, section 4.1).
 *
 * @returns the comparison, with the element that lies furthest off
 */
export function auditMerge({ base, adapter, merged }: Merge, watch = new Watch()) {
  using stored = StoredTensors.ofModel(base);
  using matrices = new StoredTensors([join(adapter, 'adapter_model.safetensors')]);
  using written = StoredTensors.ofModel(merged);
  const { lora_alpha: alpha, r } = jsonIn(adapter, 'adapter_config.json');
  const { model_type: modelType } = jsonIn(base, 'config.json');
  const scale = Number(alpha) / Number(r);
  const { names } = written;
  const pairs = names.flatMap((name, done): Pair[] => {
    watch.report({ stage: 'audit', done, total: names.length, unit: 'tensors' });
    const source = stored.nameOf(name);
    if (source === undefined) return [{ found: 'written', plain: 'not in the base', bound: 0, tensor: name }];
    const layer = ADAPTER_PREFIX + name.replace(/\.weight$/, '');
    const [a, b] = [`${layer}.lora_A.weight`, `${layer}.lora_B.weight`];
    const count = written.shapeOf(name)!.reduce((product, size) => product * size, 1);
    const numbers = Array.from({ length: Math.min(ELEMENTS, count) }, (_, i) =>
      Math.floor(count * uniform(i)),
    );
    const found = written.elements(name, numbers);
    const weights = stored.elements(source, numbers);
    return numbers.map((number, i) => {
      const parts = matrices.shapeOf(a) ? products(number) : [];
      const plain = weights[i]! + scale * parts.reduce((sum, part) => sum + part, 0);
      const size = Math.abs(weights[i]!) + scale * parts.reduce((sum, part) => sum + Math.abs(part), 0);
      // The weight is rounded when it is read, the sum when it is written; the products are summed in float32.
      const type = written.typeOf(name)!;
      const bound = size * (2 * ROUNDING[type]! + parts.length * ROUNDING.F32!) + (LEAST[type] ?? 0);
      return { found: found[i]!, plain, bound, tensor: name };
    });

    /** The products that B A sums up at an element. */
    function products(number: number): number[] {
      const [rank, inputs] = matrices.shapeOf(a) as [number, number];
      const [outputs] = matrices.shapeOf(b) as [number];
      const turned = isTurned(modelType, name);
      const width = turned ? outputs : inputs;
      const [first, second] = [Math.floor(number / width), number % width];
      const [output, input] = turned ? [second, first] : [first, second];
      const inner = [...Array(rank).keys()];
      const up = matrices.elements(
        b,
        inner.map((k) => output * rank + k),
      );
      const down = matrices.elements(
        a,
        inner.map((k) => k * inputs + input),
      );
      return inner.map((k) => up[k]! * down[k]!);
    }
  });
  return worstOf('model', 'element of a merged tensor', pairs)[0]!;
}
