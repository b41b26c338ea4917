/** The vocabulary projection, some of its rows at a time: whole and in float32 it is the largest tensor of a small model. */
import { empty, noGrad, type Tensor, tidy } from '@grpo/torch';
import { capped } from './plain-attention.js';

/** Numbers that are made float32, or logits that are computed, at once: 64 MiB. */
const PART = 2 ** 24;

/** Logits that are handed on at once: what is made of them takes many times their memory. */
const HANDED = 2 ** 21;

/** The vocabulary projection with what becomes of its products: they are divided, then capped. */
export interface PlainHead {
  /** `[V, D]`. */
  weight: Tensor;
  divisor: number;
  /** c of c·tanh(x / c); infinite without one. */
  cap: number;
  /** The products, or as half precision has them where the model is rounded. */
  rounded(products: Tensor): Tensor;
}

/** Logits of the products with the projection. */
export function logitsFrom({ divisor, cap, rounded }: PlainHead, products: Tensor): Tensor {
  const own = rounded(products);
  return capped(divisor === 1 ? own : own.div(divisor), cap);
}

/** Slopes in those products, from slopes in the logits: tanh′ = 1 − tanh². */
export function productSlopes({ divisor, cap }: PlainHead, logits: Tensor, slopes: Tensor): Tensor {
  const inner = cap === Infinity ? slopes : slopes.sub(slopes.mul(logits.mul(logits)).div(cap ** 2));
  return divisor === 1 ? inner : inner.div(divisor);
}

/**
 * Hands over a matrix, `[V, D]`, in float32, from its first row to its last.
 *
 * @param rows - at most so many at once
 */
export function eachPart(weight: Tensor, rows: number, take: (part: Tensor, start: number) => void): void {
  for (let start = 0; start < weight.size(0); start += rows)
    tidy(() =>
      take(
        weight
          .narrow(0, start, Math.min(rows, weight.size(0) - start))
          .detach()
          .to('float32'),
        start,
      ),
    );
}

/** Rows of a matrix `[V, D]` that are taken at once, where each makes a number for each of `tokens`. */
export function partRows(weight: Tensor, tokens: number): number {
  const most = Math.min(PART / weight.size(1), HANDED / tokens);
  return Math.max(1, Math.floor(most));
}

/** Gives the logits, `[rows, V]`, of normed hidden states, `[M, D]`, some rows at a time. */
export function eachLogits(
  normed_MD: Tensor,
  head: PlainHead,
  take: (logits: Tensor, start: number) => void,
): void {
  const vocabulary = head.weight.size(0);
  const [rows, handed] = [PART, HANDED].map((most) => Math.max(1, Math.floor(most / vocabulary))) as [
    number,
    number,
  ];
  const count = normed_MD.size(0);
  for (let start = 0; start < count; start += rows)
    tidy(() => {
      const own = normed_MD.narrow(0, start, Math.min(rows, count - start));
      const logits = logitsOf(own, head);
      for (let row = 0; row < own.size(0); row += handed)
        tidy(() => take(logits.narrow(0, row, Math.min(handed, own.size(0) - row)), start + row));
    });
}

function logitsOf(normed: Tensor, head: PlainHead): Tensor {
  const { weight } = head;
  return noGrad(() => {
    const logits = empty([normed.size(0), weight.size(0)], { device: normed.device });
    eachPart(weight, partRows(weight, normed.size(0)), (part, start) =>
      logits.narrow(1, start, part.size(0)).copy_(logitsFrom(head, normed.matmul(part.t()))),
    );
    return logits;
  });
}
