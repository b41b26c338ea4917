import { cat, noGrad, type Tensor, tensor, tidy, zeros } from '@grpo/torch';
import type { Slopes } from '../../doctor/recompute/policy-slopes.js';
import { finalNorm, headOf } from './plain-decoder.js';
import { eachPart, logitsFrom, type PlainHead, partRows, productSlopes } from './plain-head.js';
import { column, type PassScores, predicting } from './plain-logprobs.js';
import type { PlainModel } from './plain-model.js';
import type { PlainPass } from './plain-pass.js';
import { insideOf, type Support } from './plain-support.js';

/** A forward pass with the slopes of the loss in what it gives. */
export interface SlopedPass extends PlainPass {
  /** What each layer took, and what the last gave. */
  states: readonly Tensor[];
  scores: Pick<PassScores, 'masses' | 'entropies'>;
  slopes: Slopes;
}

/**
 * Slopes of the loss in the logits, `[T, V]`, for a part of the vocabulary at a time: they are computed again where they
 * are asked for, and whole in no place.
 */
export class HeadSlopes {
  readonly #head: PlainHead;
  readonly #normed_TD: Tensor;
  readonly #ids: readonly number[];
  /** The ids that each token is scored over; undefined where all are scored over the whole vocabulary. */
  readonly #support: Support | undefined;
  /** `[T, 1]`. */
  readonly #columns: Readonly<Record<'byLogprob' | 'byEntropy' | 'mass' | 'entropy', Tensor>>;

  constructor(
    model: PlainModel,
    private readonly passes: readonly SlopedPass[],
    private readonly temperature: number,
  ) {
    this.#head = headOf(model);
    this.#normed_TD = noGrad(() =>
      tidy(() => cat(passes.map((one) => finalNorm(model).of(predicting(one.states.at(-1)!, one))))),
    );
    this.#ids = passes.flatMap(({ targets }) => targets);
    const support = passes.flatMap((one) => one.support ?? one.targets.map(() => undefined));
    this.#support = support.some((ids) => ids) ? support : undefined;
    const columnOf = (of: (pass: SlopedPass) => ArrayLike<number>) => {
      const values = passes.flatMap((one) => Array.from(of(one)));
      return tensor(Float32Array.from(values), [values.length, 1], { device: this.#head.weight.device });
    };
    this.#columns = {
      byLogprob: columnOf(({ slopes }) => slopes.logprobs),
      byEntropy: columnOf(({ slopes }) => slopes.entropies),
      mass: columnOf(({ scores }) => scores.masses),
      entropy: columnOf(({ scores }) => scores.entropies),
    };
  }

  /**
   * Slopes in what the last layer's norm gives in each pass, `[L, D]`.
   *
   * @param take - is told how to compute the gradient of the rows of the projection from `start` on
   */
  backward(take: (gradient: () => Tensor, start: number) => void): Tensor[] {
    return noGrad(() =>
      tidy(() => {
        const own_TD = this.#normed_TD.zerosLike();
        this.#eachPart((slope, part, start) => {
          own_TD.add_(slope.matmul(part));
          take(() => slope.t().matmul(this.#normed_TD), start);
        });
        let first = 0;
        return this.passes.map((one) => {
          const last = one.states.at(-1)!;
          const all = zeros([...last.shape], { device: last.device });
          const own = own_TD.narrow(0, first, one.rows.length);
          first += one.rows.length;
          return all.indexCopy_(0, column(one.rows, last.device).squeeze(1), own);
        });
      }),
    );
  }

  /** Hands over the gradient of the projection, `[rows, D]`, some rows at a time. */
  eachGradient(take: (gradient: Tensor, start: number) => void): void {
    noGrad(() => this.#eachPart((slope, _, start) => take(slope.t().matmul(this.#normed_TD), start)));
  }

  /** Hands over the slopes in the logits of some rows of the projection, and these rows. */
  #eachPart(take: (slope_TV: Tensor, part: Tensor, start: number) => void): void {
    const { byLogprob, byEntropy, mass, entropy } = this.#columns;
    const scale = this.temperature === 0 ? 1 : this.temperature;
    const { weight } = this.#head;
    eachPart(weight, partRows(weight, this.#ids.length), (part, start) => {
      const slope = tidy(() => {
        const logits = logitsFrom(this.#head, this.#normed_TD.matmul(part.t()));
        const logprobs = logits.div(scale).sub(mass);
        const p = this.#inside(logprobs.exp(), start);
        // d log p(token) = onehot − p, d entropy = −p (log p + entropy).
        const inner = p
          .mul(byLogprob)
          .add(p.mul(logprobs.add(entropy)).mul(byEntropy))
          .neg();
        return productSlopes(this.#head, logits, this.#addTokens(inner, start).div(scale));
      });
      take(slope, part, start);
    });
  }

  /** The probabilities of the ids from `start` on: none of one that could not have been drawn. */
  #inside(p: Tensor, start: number): Tensor {
    return this.#support ? p.mul(insideOf(this.#support, start, p.size(1), p.device)) : p;
  }

  /** Adds the slope of each log-prob to its own token, where that is among those from `start` on. */
  #addTokens(slope: Tensor, start: number): Tensor {
    const { device } = slope;
    const isInside = (id: number) => id >= start && id < start + slope.size(1);
    const places = column(
      this.#ids.map((id) => (isInside(id) ? id - start : 0)),
      device,
    );
    const inside = tensor(
      Float32Array.from(this.#ids, (id) => Number(isInside(id))),
      [this.#ids.length, 1],
      {
        device,
      },
    );
    return slope.scatterAdd_(1, places, this.#columns.byLogprob.mul(inside));
  }
}
