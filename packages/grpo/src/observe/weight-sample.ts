import { type AdamW, cat, keep, noGrad, stack, type Tensor, tidy } from '@grpo/torch';
import { sampleOf } from '../models/index.js';
import type { UpdateRecord } from '../trace/index.js';

/** Elements of each tensor that are looked at: enough for a share, and next to nothing of a step. */
const ELEMENTS = 2 ** 12;

/** A gradient that moves a weight: ten times what AdamW's usual ε of 1e-8 keeps down. */
const FELT = 1e-7;

/** Every n-th of the trained weights as they are, to tell what an update changes. */
export class WeightSample implements Disposable {
  /** Views of the tensors, which show what they become. */
  readonly #masters: Tensor[] = [];
  readonly #halves: Tensor[] = [];
  /** Elements of each tensor. */
  readonly #sizes: number[] = [];
  /** Elements of all tensors, one after another. */
  readonly #before: { masters_S: Tensor; halves_S: Tensor | undefined; felt_S: Tensor };

  constructor(optimizer: AdamW) {
    const gradients: Tensor[] = [];
    this.#before = noGrad(() =>
      tidy(() => {
        for (const { parameter, master, gradient } of optimizer.weights()) {
          const view = keep(sampleOf(master, ELEMENTS));
          this.#masters.push(view);
          this.#sizes.push(master.numel);
          if (parameter !== master) this.#halves.push(keep(sampleOf(parameter, ELEMENTS)));
          gradients.push(gradient ? sampleOf(gradient, ELEMENTS) : view.mul(0));
        }
        return {
          masters_S: keep(cat(this.#masters)),
          halves_S: this.#halves.length > 0 ? keep(cat(this.#halves)) : undefined,
          felt_S: keep(cat(gradients).abs().gt(FELT)),
        };
      }),
    );
  }

  /** What has changed since; the norm is estimated from the sample. */
  changes(): Pick<UpdateRecord, 'changedShare' | 'changedWeightShare' | 'lostShare' | 'updateNorm'> {
    return noGrad(() =>
      tidy(() => {
        const { masters_S, halves_S, felt_S } = this.#before;
        const now_S = cat(this.#masters);
        const moved_S = now_S.ne(masters_S);
        const felt = felt_S.sum().item();
        const counts = this.#masters.map(({ numel }) => numel);
        const parts = now_S.sub(masters_S).splitWithSizes(counts);
        const norms = stack(parts.map((part) => part.linalgVectorNorm())).toNumbers();
        const squares = norms.map((norm, i) => (norm ** 2 * this.#sizes[i]!) / counts[i]!);
        return {
          changedShare: moved_S.sum().item() / moved_S.numel,
          ...(halves_S && {
            changedWeightShare: cat(this.#halves).ne(halves_S).sum().item() / halves_S.numel,
          }),
          ...(felt > 0 && { lostShare: felt_S.logicalAnd(moved_S.logicalNot()).sum().item() / felt }),
          updateNorm: Math.sqrt(squares.reduce((a, b) => a + b, 0)),
        };
      }),
    );
  }

  [Symbol.dispose](): void {
    const { masters_S, halves_S, felt_S } = this.#before;
    for (const tensor of [masters_S, halves_S, felt_S, ...this.#masters, ...this.#halves]) tensor?.dispose();
  }
}
