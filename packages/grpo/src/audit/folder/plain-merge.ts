/** The sum of a model and an adapter, element by element, both read from their files a second time. */
import { join } from 'node:path';
import { ADAPTER_PREFIX, isTurned, StoredTensors } from './stored-tensors.js';
import { jsonIn } from './told-by-files.js';

/** An element of the sum. */
export interface PlainSum {
  value: number;
  /** Sum of the absolute values of what is added up. */
  size: number;
  /** Products of the adapter in it. */
  products: number;
}

/** W + alpha / r · B A, of the model's W and the adapter's A and B (Hu et al., 2021, section 4.1). */
export class PlainMerge implements Disposable {
  readonly #base: StoredTensors;
  readonly #matrices: StoredTensors;
  readonly #scale: number;
  readonly #modelType: unknown;

  /** @param folders - those of the model and of the adapter */
  constructor({ base, adapter }: { base: string; adapter: string }) {
    this.#base = StoredTensors.ofModel(base);
    this.#matrices = new StoredTensors([join(adapter, 'adapter_model.safetensors')]);
    const { lora_alpha: alpha, r } = jsonIn(adapter, 'adapter_config.json');
    this.#scale = Number(alpha) / Number(r);
    this.#modelType = jsonIn(base, 'config.json').model_type;
  }

  /** Elements of a tensor of the sum, by their places in it; undefined where the model has none of that name. */
  elements(name: string, places: readonly number[]): PlainSum[] | undefined {
    const source = this.#base.nameOf(name);
    if (source === undefined) return undefined;
    const weights = this.#base.elements(source, places);
    return places.map((place, i) => {
      const products = this.#products(name, place);
      const sumOf = (values: readonly number[]) => this.#scale * values.reduce((sum, one) => sum + one, 0);
      return {
        value: weights[i]! + sumOf(products),
        size: Math.abs(weights[i]!) + sumOf(products.map(Math.abs)),
        products: products.length,
      };
    });
  }

  /** The products that B A sums up at an element; none where the tensor has no adapter. */
  #products(name: string, place: number): number[] {
    const layer = ADAPTER_PREFIX + name.replace(/\.weight$/, '');
    const [a, b] = [`${layer}.lora_A.weight`, `${layer}.lora_B.weight`];
    if (!this.#matrices.shapeOf(a)) return [];
    const [rank, inputs] = this.#matrices.shapeOf(a) as [number, number];
    const [outputs] = this.#matrices.shapeOf(b) as [number];
    const turned = isTurned(this.#modelType, name);
    const width = turned ? outputs : inputs;
    const [first, second] = [Math.floor(place / width), place % width];
    const [output, input] = turned ? [second, first] : [first, second];
    const inner = [...Array(rank).keys()];
    const up = this.#matrices.elements(
      b,
      inner.map((k) => output * rank + k),
    );
    const down = this.#matrices.elements(
      a,
      inner.map((k) => k * inputs + input),
    );
    return inner.map((k) => up[k]! * down[k]!);
  }

  [Symbol.dispose](): void {
    this.#base[Symbol.dispose]();
    this.#matrices[Symbol.dispose]();
  }
}
