import type { Config } from '../config/schema.js';

/** Weights of the objective that change while training. */
export interface Control {
  /** Of the KL to the reference. */
  beta: number;
  /** Of the entropy bonus. */
  entropyCoefficient: number;
}

/** Before the first step. */
export function firstControl({ kl, entropy }: Config): Control {
  return { beta: kl.beta, entropyCoefficient: entropy.coefficient };
}
