import { noGrad, sumGradients } from './autograd.js';
import { cat, foreachMul_, fusedAdamW_, zeros, zerosLike } from './generated/ops.js';
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
  /** Gradient of the update so far, float32, the parameter's `.grad` where that is float32; null before its first backward pass. */
  gradient: Tensor | null;
  mean: Tensor;
  square: Tensor;
  step: Tensor;
}

/** Norms of the gradients that a step used. */
export interface GradientNorms {
  /** Norm over all tensors, √Σ g², before clipping. */
  gradNorm: number;
  /** Norm of each tensor's gradient, by its name. */
  gradNorms: ReadonlyMap<string, number>;
}

/** Tensors of the optimizer's state, by name. */
export type AdamWState = Map<string, Tensor>;

/**
 * AdamW (Loshchilov and Hutter, 2019). Weights of half precision get float32 masters, and their gradients are added up
 * in float32: neither small updates nor small micro-batches are rounded away.
 */
export class AdamW {
  readonly #slots: Map<string, Slot>;

  /** @param parameters - leaves that require gradients, by name; they stay the caller's, their `.grad` is the optimizer's */
  constructor(
    parameters: ReadonlyMap<string, Tensor>,
    private readonly options: AdamWOptions,
  ) {
    this.#slots = noGrad(() => new Map(tidy(() => [...parameters].map(([name, p]) => [name, slotOf(p)]))));
    for (const { master, parameter, mean, square, step } of this.#slots.values()) {
      for (const tensor of [mean, square, step]) keep(tensor);
      if (master !== parameter) keep(master);
    }
    this.zeroGrad();
  }

  /**
   * Runs a backward pass that adds its gradients to those of the update so far, each as it is made: there is never a
   * second set of them. One that fails halfway so spoils the update; `zeroGrad` begins it again.
   */
  accumulate(pass: () => void): void {
    for (const slot of this.#slots.values()) {
      if (slot.gradient || slot.master === slot.parameter) continue;
      slot.gradient = keep(zerosLike(slot.master));
      sumGradients(slot.parameter, slot.gradient);
    }
    pass();
    for (const slot of this.#slots.values()) slot.gradient ??= keepGradient(slot.parameter.grad);
  }

  /** Gives each tensor a gradient: zeros where no backward pass has reached it. */
  completeGradients(): void {
    for (const slot of this.#slots.values()) slot.gradient ??= keep(zerosLike(slot.master));
  }

  /** Gradients of the update so far by parameter, float32; the optimizer's own. */
  get gradients(): Map<string, Tensor> {
    return new Map([...this.#slots].flatMap(([name, { gradient }]) => (gradient ? [[name, gradient]] : [])));
  }

  /**
   * One step with the accumulated gradients, which are then cleared.
   *
   * @param maxNorm - gradients are scaled down to this global norm; 0 leaves them
   * @returns norms before clipping; when the whole norm is not finite nothing is changed
   */
  step(learningRate: number, maxNorm: number): GradientNorms {
    return noGrad(() =>
      tidy(() => {
        const slots = [...this.#slots.values()];
        const gradients = slots.map((s) => s.gradient ?? zerosLike(s.master));
        const { gradNorm, gradNorms } = this.#normsOf(gradients);
        if (!Number.isFinite(gradNorm)) {
          this.zeroGrad();
          return { gradNorm, gradNorms };
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
        return { gradNorm, gradNorms };
      }),
    );
  }

  /** Norms of the gradients of the update so far. */
  norms(): GradientNorms {
    const ofSlots = () => [...this.#slots.values()].map((s) => s.gradient ?? zerosLike(s.master));
    return noGrad(() => tidy(() => this.#normsOf(ofSlots())));
  }

  #normsOf(gradients: readonly Tensor[]): GradientNorms {
    const norms = normsOf(gradients);
    return {
      gradNorm: Math.hypot(...norms),
      gradNorms: new Map([...this.#slots.keys()].map((name, i) => [name, norms[i]!])),
    };
  }

  /** Drops all gradients since the last step, such as those of an update that failed halfway. */
  zeroGrad(): void {
    for (const slot of this.#slots.values()) {
      slot.parameter.grad = null;
      if (slot.master !== slot.parameter) sumGradients(slot.parameter, null);
      slot.gradient?.dispose();
      slot.gradient = null;
    }
  }

  /** The trained tensors, each with its float32 master, which is itself where it is float32, and its gradient so far. */
  *weights(): Generator<{ parameter: Tensor; master: Tensor; gradient: Tensor | null }> {
    for (const { parameter, master, gradient } of this.#slots.values()) yield { parameter, master, gradient };
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
    this.zeroGrad();
    for (const { parameter, master, mean, square, step } of this.#slots.values()) {
      for (const tensor of [mean, square, step]) tensor.dispose();
      if (master !== parameter) master.dispose();
    }
  }
}

/** √Σ x² of each tensor: in float32 of a row only, since there a sum of many elements swallows those that come late. */
function normsOf(tensors: readonly Tensor[]): number[] {
  const rows = tensors.map((x) => x.linalgVectorNorm(2, [-1]).reshape([-1]));
  const norms = cat(rows).toTypedArray() as Float32Array;
  let end = 0;
  return rows.map(({ numel }) => {
    end += numel;
    const own = norms.subarray(end - numel, end);
    return Math.sqrt(own.reduce((sum, norm) => sum + norm * norm, 0));
  });
}

const keepGradient = (gradient: Tensor | null) => gradient && keep(gradient);

function slotOf(parameter: Tensor): Slot {
  const master = parameter.dtype === 'float32' ? parameter : parameter.detach().to('float32');
  const step = zeros([], { device: parameter.device });
  return { parameter, master, gradient: null, mean: zerosLike(master), square: zerosLike(master), step };
}
