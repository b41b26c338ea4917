import { type Tensor, tensor, where, zeros } from '@grpo/torch';
import { largest, sum } from '../maths/moments.js';

/** The T tokens of a micro-batch as rows: which of its B completions each belongs to, and which are trained on. */
export class TokenRows {
  /** Trained tokens of each completion: `[B]`. */
  readonly counts: readonly number[];
  readonly #owner_T: Tensor;
  readonly #mask_T: Tensor | undefined;
  readonly #like: Tensor;

  /**
   * @param lengths - tokens of each completion
   * @param mask - 1 where a token is trained on, `[T]`; null for all
   * @param like - a tensor with the dtype and the device that values get
   */
  constructor(
    readonly lengths: readonly number[],
    readonly mask: Uint8Array | null,
    like: Tensor,
  ) {
    this.#like = like;
    this.#owner_T = tensor(this.spreadNumbers(lengths.map((_, b) => b)), undefined, {
      dtype: 'int64',
      device: like.device,
    });
    this.#mask_T = mask?.includes(0)
      ? tensor(mask, undefined, { dtype: 'bool', device: like.device })
      : undefined;
    this.counts = mask ? this.#countTrained(mask) : lengths;
  }

  /** Sets values to 0 for tokens that are not trained on. Not by a product: the values may be infinite. */
  maskTensor(values_T: Tensor): Tensor {
    return this.#mask_T ? where(this.#mask_T, values_T, 0) : values_T;
  }

  /** Sums over the trained tokens of each completion: `[T]` → `[B]`. */
  sum(values_T: Tensor): Tensor {
    const { dtype, device } = values_T;
    return zeros([this.lengths.length], { dtype, device }).scatterAdd_(
      0,
      this.#owner_T,
      this.maskTensor(values_T),
    );
  }

  /** Means over the trained tokens of each completion, 0 where there is none: `[T]` → `[B]`. */
  mean(values_T: Tensor): Tensor {
    return this.sum(values_T).div(this.tensor(this.counts.map((count) => Math.max(count, 1))));
  }

  /** Largest of the trained tokens of each completion, 0 where there is none; without gradient: `[T]` → `[B]`. */
  max(values_T: Tensor): Tensor {
    const values = values_T.detach().toNumbers();
    let start = 0;
    return this.tensor(
      this.lengths.map((length) => {
        start += length;
        const own = values.slice(start - length, start).filter((_, t) => this.isTrained(start - length + t));
        return own.length === 0 ? 0 : largest(own);
      }),
    );
  }

  /** Gives each token the value of its completion: `[B]` → `[T]`. */
  spread(values_B: Tensor): Tensor {
    return values_B.indexSelect(0, this.#owner_T);
  }

  /** The same for numbers. */
  spreadNumbers(values_B: ArrayLike<number>): Float64Array {
    const values_T = new Float64Array(sum(this.lengths));
    let start = 0;
    for (const [b, length] of this.lengths.entries()) {
      values_T.fill(values_B[b]!, start, start + length);
      start += length;
    }
    return values_T;
  }

  /** Numbers of tokens, 0 for those that are not trained on. */
  maskNumbers(values_T: Float64Array): Float64Array {
    return values_T.map((value, t) => (this.isTrained(t) ? value : 0));
  }

  /** Whether a token is trained on. */
  isTrained(t: number): boolean {
    return this.mask === null || this.mask[t] === 1;
  }

  /** Numbers as a tensor. */
  tensor(values: ArrayLike<number>): Tensor {
    const { dtype, device } = this.#like;
    return tensor(Float64Array.from(values), undefined, { dtype, device });
  }

  #countTrained(mask: Uint8Array): number[] {
    let start = 0;
    return this.lengths.map((length) => {
      start += length;
      return sum(mask.subarray(start - length, start));
    });
  }
}
