import { type AdamW, noGrad, stack, type Tensor, tidy } from '@grpo/torch';

/**
 * How the gradients of the kinds of problems stand to each other. The micro-batches of an update are taken kind by kind,
 * and the accumulated gradient is copied before each kind but the first: a kind's share is the difference. No pass is added; the
 * gradient of the update is the same sum in another order.
 */
export class KindGradients {
  readonly #kinds: string[] = [];
  /** Accumulated gradients before each kind but the first, by parameter. */
  readonly #sums: Map<string, Tensor>[] = [];

  constructor(private readonly optimizer: Pick<AdamW, 'gradients'>) {}

  /** Before each micro-batch, all of one kind. */
  begin(kind: string): void {
    if (this.#kinds.at(-1) === kind) return;
    this.#kinds.push(kind);
    if (this.#kinds.length === 1) return;
    this.#sums.push(
      noGrad(() => new Map([...this.optimizer.gradients].map(([name, sum]) => [name, sum.clone()]))),
    );
  }

  /**
   * After the last micro-batch: `grad_norm/KIND` of each, and `grad_cosine`, the least cosine between two of
   * them; without it where fewer than two have a gradient.
   */
  metrics(): Record<string, number> {
    const kinds = this.#kinds;
    const products = this.#products(kinds.length);
    const norms = kinds.map((_, k) => Math.sqrt(products(k, k)));
    const cosines = kinds.flatMap((_, a) =>
      kinds
        .slice(0, a)
        .flatMap((_, b) => (norms[a]! * norms[b]! > 0 ? [products(a, b) / (norms[a]! * norms[b]!)] : [])),
    );
    return {
      ...Object.fromEntries(kinds.map((kind, k) => [`grad_norm/${kind}`, norms[k]!])),
      ...(cosines.length > 0 && { grad_cosine: Math.min(...cosines) }),
    };
  }

  dispose(): void {
    for (const sums of this.#sums.splice(0)) for (const sum of sums.values()) sum.dispose();
  }

  /** The inner product of the gradients of two kinds. */
  #products(count: number): (a: number, b: number) => number {
    const total = new Float64Array(count * count);
    noGrad(() => {
      for (const [name, sum] of this.optimizer.gradients)
        tidy(() => {
          const after = [...this.#sums.map((sums) => sums.get(name)), sum];
          // A parameter has no gradient before the first kind that reaches it.
          const own = after.map((to, k) => {
            const from = after[k - 1];
            return to && (from ? to.sub(from) : to);
          });
          const pairs = own.flatMap((x, a) =>
            own
              .slice(0, a + 1)
              .flatMap((y, b) => (x && y ? [{ place: a * count + b, value: x.mul(y).sum() }] : [])),
          );
          const values = stack(pairs.map(({ value }) => value)).toNumbers();
          for (const [i, { place }] of pairs.entries()) total[place]! += values[i]!;
        });
    });
    return (a, b) => total[Math.max(a, b) * count + Math.min(a, b)]!;
  }
}
