import type { Tensor } from '@grpo/torch';
import type { LossMetrics } from '../objective/index.js';

export interface TokenMeans {
  /** k3 to the reference; absent without one. */
  kl?: number;
  /** Share of tokens whose ratio was clipped from below, and from above. */
  clippedLow: number;
  clippedHigh: number;
  /** Of the policy's distribution, in nats. */
  entropy: number;
  /** |log-prob of the trainer − of the sampler| for the same weights and tokens. */
  samplerGapMean: number;
  samplerGapMax: number;
}

/** Sums over the micro-batches of a step, and their means a token. */
export class TokenTally {
  #sums: LossMetrics = { tokens: 0, kl: 0, clippedLow: 0, clippedHigh: 0 };
  #entropy = 0;
  #gap = { tokens: 0, sum: 0, max: 0 };

  constructor(private readonly hasReference: boolean) {}

  add(metrics: LossMetrics, entropySum: number): void {
    for (const key of Object.keys(metrics) as (keyof LossMetrics)[]) this.#sums[key] += metrics[key];
    this.#entropy += entropySum;
  }

  /** Takes in how far the trainer's log-probs are from the sampler's, for the same weights and tokens. */
  compare(trainer_T: Tensor, sampler_T: Tensor): void {
    const distances = trainer_T.detach().sub(sampler_T).abs();
    this.#gap.tokens += distances.numel;
    this.#gap.sum += distances.sum().item();
    this.#gap.max = Math.max(this.#gap.max, distances.amax([]).item());
  }

  get means(): TokenMeans {
    const { tokens, kl, clippedLow, clippedHigh } = this.#sums;
    return {
      ...(this.hasReference ? { kl: kl / tokens } : {}),
      clippedLow: clippedLow / tokens,
      clippedHigh: clippedHigh / tokens,
      entropy: this.#entropy / tokens,
      samplerGapMean: this.#gap.sum / this.#gap.tokens,
      samplerGapMax: this.#gap.max,
    };
  }
}
