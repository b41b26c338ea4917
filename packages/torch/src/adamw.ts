import { noGrad } from './autograd.js';
import { foreachMul_, foreachNorm, fusedAdamW_, stack, zeros, zerosLike } from './generated/ops.js';
import { keep, tidy } from './scope.js';
import type { Tensor } from './tensor.js';

export interface AdamWOptions {
  beta1: number;
  beta2: number;
  epsilon: number;
  /** Shrinks weights by learning rate × this at each step. */
  weightDecay: number;
}

interface Slot {
  parameter: Tensor;
  /** float32; the parameter itself when it is float32 already. */
  master: Tensor;
  /** Gradient of the update so far, float32. */
  gradient: Tensor;
  mean: Tensor;
  square: Tensor;
  step: Tensor;
}

/** Tensors of the optimizer's state, by name. */
export type AdamWState = Map<string, Tensor>;

/**
 * AdamW (Loshchilov and Hutter, 2019). Weights of half precision get float32 masters, and their gradients are added up
 * in float32: neither small updates nor small micro-batches are rounded away.
 */
export class AdamW {
  readonly #slots: Map<string, Slot>;

  /** @param parameters - leaves that require gradients, by name; they stay the caller's */
  constructor(
    parameters: ReadonlyMap<string, Tensor>,
    private readonly options: AdamWOptions,
  ) {
    this.#slots = noGrad(() =>
      tidy(() => {
        const slots = [...parameters].map(([name, parameter]): [string, Slot] => {
          const master = parameter.dtype === 'float32' ? parameter : keep(parameter.detach().to('float32'));
          const like = () => keep(zerosLike(master));
          const gradient = like();
          // A float32 parameter adds up in the optimizer's own buffer.
          if (master === parameter) parameter.grad = gradient;
          const step = keep(zeros([], { device: parameter.device }));
          return [name, { parameter, master, gradient, mean: like(), square: like(), step }];
        });
        return new Map(slots);
      }),
    );
  }

  /** Takes over the gradients of a backward pass: to be called after each. */
  accumulate(): void {
    noGrad(() =>
      tidy(() => {
        for (const { parameter, master, gradient } of this.#slots.values()) {
          const fresh = master === parameter ? null : parameter.grad;
          if (!fresh) continue;
          gradient.add_(fresh);
          parameter.grad = null;
        }
      }),
    );
  }

  /**
   * One step with the accumulated gradients, which are then cleared.
   *
   * @param maxNorm - gradients are scaled down to this global norm; 0 leaves them
   * @returns the global norm before clipping; when it is not finite nothing is changed
   */
  step(learningRate: number, maxNorm: number): { gradNorm: number } {
    return noGrad(() =>
      tidy(() => {
        const slots = [...this.#slots.values()];
        const gradients = slots.map((s) => s.gradient);
        const gradNorm = globalNorm(gradients);
        if (!Number.isFinite(gradNorm)) {
          this.zeroGrad();
          return { gradNorm };
        }
        if (maxNorm > 0 && gradNorm > maxNorm) foreachMul_(gradients, maxNorm / (gradNorm + 1e-6));
        for (const { step } of slots) step.add_(1);
        const { beta1, beta2, epsilon, weightDecay } = this.options;
        fusedAdamW_(
          slots.map((s) => s.master),
          gradients,
          slots.map((s) => s.mean),
          slots.map((s) => s.square),
          [],
          slots.map((s) => s.step),
          {
            lr: learningRate,
            beta1,
            beta2,
            weight_decay: weightDecay,
            eps: epsilon,
            amsgrad: false,
            maximize: false,
          },
        );
        for (const { parameter, master } of slots) if (master !== parameter) parameter.copy_(master);
        this.zeroGrad();
        return { gradNorm };
      }),
    );
  }

  /** Drops all gradients since the last step, such as those of an update that failed halfway. */
  zeroGrad(): void {
    noGrad(() =>
      tidy(() => {
        for (const { parameter, master, gradient } of this.#slots.values()) {
          gradient.zero_();
          if (master !== parameter) parameter.grad = null;
        }
      }),
    );
  }

  /** The state that a resumed run needs, by name: `NAME.mean`, `NAME.square`, `NAME.step`, and `NAME.master` where it differs. */
  state(): AdamWState {
    const state: AdamWState = new Map();
    for (const [name, { parameter, master, mean, square, step }] of this.#slots) {
      state.set(`${name}.mean`, mean).set(`${name}.square`, square).set(`${name}.step`, step);
      if (master !== parameter) state.set(`${name}.master`, master);
    }
    return state;
  }

  dispose(): void {
    for (const { parameter, master, gradient, mean, square, step } of this.#slots.values()) {
      parameter.grad = null;
      for (const tensor of [gradient, mean, square, step]) tensor.dispose();
      if (master !== parameter) master.dispose();
    }
  }
}

/** √Σ g² over all tensors. */
function globalNorm(tensors: readonly Tensor[]): number {
  return Math.hypot(...stack(foreachNorm(tensors)).toNumbers());
}
