import { type AdamW, cat, foreachNorm, keep, noGrad, stack, type Tensor, tidy } from '@grpo/torch';
import type { UpdateRecord } from '../trace/index.js';

/** Elements of each tensor that are looked at: enough for a share, and next to nothing of a step. */
const ELEMENTS = 2 ** 12;

/** A gradient that moves a weight: ten times what AdamW's usual ε of 1e-8 keeps down. */
const FELT = 1e-7;

/** Every n-th of the trained weights as they are, to tell what an update changes. */
export class WeightSample implements Disposable {
  readonly #masters: Tensor[] = [];
  readonly #halves: Tensor[] = [];
  /** Elements of all tensors, one after another. */
  readonly #before: { masters_S: Tensor; halves_S: Tensor | undefined; felt_S: Tensor };

  constructor(optimizer: AdamW) {
    const gradients: (Tensor | null)[] = [];
    for (const { parameter, master, gradient } of optimizer.weights()) {
      this.#masters.push(master);
      if (parameter !== master) this.#halves.push(parameter);
      gradients.push(gradient);
    }
    this.#before = noGrad(() =>
      tidy(() => ({
        masters_S: keep(samplesOf(this.#masters)),
        halves_S: this.#halves.length > 0 ? keep(samplesOf(this.#halves)) : undefined,
        // A tensor without a gradient stands for itself, times 0.
        felt_S: keep(
          samplesOf(gradients.map((g, i) => g ?? this.#masters[i]!.mul(0)))
            .abs()
            .gt(FELT),
        ),
      })),
    );
  }

  /** What has changed since; the norm is estimated from the sample. */
  changes(): Pick<UpdateRecord, 'changedShare' | 'changedWeightShare' | 'lostShare' | 'updateNorm'> {
    return noGrad(() =>
      tidy(() => {
        const { masters_S, halves_S, felt_S } = this.#before;
        const now_S = samplesOf(this.#masters);
        const moved_S = now_S.ne(masters_S);
        const felt = felt_S.sum().item();
        const counts = this.#masters.map(countOf);
        const norms = stack(foreachNorm(now_S.sub(masters_S).splitWithSizes(counts))).toNumbers();
        const squares = norms.map((norm, i) => (norm ** 2 * elementsOf(this.#masters[i]!)) / counts[i]!);
        return {
          changedShare: moved_S.sum().item() / moved_S.numel,
          ...(halves_S && {
            changedWeightShare: samplesOf(this.#halves).ne(halves_S).sum().item() / halves_S.numel,
          }),
          ...(felt > 0 && { lostShare: felt_S.logicalAnd(moved_S.logicalNot()).sum().item() / felt }),
          updateNorm: Math.sqrt(squares.reduce((a, b) => a + b, 0)),
        };
      }),
    );
  }

  [Symbol.dispose](): void {
    const { masters_S, halves_S, felt_S } = this.#before;
    for (const sample of [masters_S, halves_S, felt_S]) sample?.dispose();
  }
}

const samplesOf = (tensors: readonly Tensor[]) => cat(tensors.map((tensor) => sampleOf(tensor)));

const elementsOf = (tensor: Tensor) => tensor.shape.reduce((a, b) => a * b, 1);
const everyOf = (tensor: Tensor, wanted: number) => Math.max(1, Math.floor(elementsOf(tensor) / wanted));
const countOf = (tensor: Tensor) => Math.floor(elementsOf(tensor) / everyOf(tensor, ELEMENTS));

/** A view of every n-th element, the first of each run of n: about as many as are wanted. */
export function sampleOf(tensor: Tensor, wanted = ELEMENTS): Tensor {
  const every = everyOf(tensor, wanted);
  const count = Math.floor(elementsOf(tensor) / every);
  return tensor
    .detach()
    .reshape([elementsOf(tensor)])
    .narrow(0, 0, count * every)
    .reshape([count, every])
    .select(1, 0);
}
