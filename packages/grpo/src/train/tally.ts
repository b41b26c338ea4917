import type { Tensor } from '@grpo/torch';
import type { LossMetrics, Share } from '../objective/index.js';

/** Sums over the micro-batches of a step, and their means. */
export class MetricTally {
  readonly #means = new Map<string, Share>();
  readonly #bounds = new Map<string, number>();
  #gap = { tokens: 0, sum: 0, max: 0 };

  add({ means, least = {}, most = {} }: LossMetrics): void {
    for (const [name, { sum, of }] of Object.entries(means)) {
      const own = this.#means.get(name) ?? { sum: 0, of: 0 };
      this.#means.set(name, { sum: own.sum + sum, of: own.of + of });
    }
    for (const [name, value] of Object.entries(least)) this.#bound(name, value, Math.min);
    for (const [name, value] of Object.entries(most)) this.#bound(name, value, Math.max);
  }

  /** Takes in how far the trainer's log-probs are from the sampler's, for the same weights and tokens. */
  compare(trainer_T: Tensor, sampler_T: Tensor): void {
    const distances = trainer_T.detach().sub(sampler_T).abs();
    this.#gap.tokens += distances.numel;
    this.#gap.sum += distances.sum().item();
    this.#gap.max = Math.max(this.#gap.max, distances.amax([]).item());
  }

  /** By name; a mean of nothing is left out. */
  get values(): Record<string, number> {
    const means = [...this.#means].filter(([, { of }]) => of > 0);
    const bounds = [...this.#bounds].filter(([, value]) => Number.isFinite(value));
    return {
      ...Object.fromEntries(means.map(([name, { sum, of }]) => [name, sum / of])),
      ...Object.fromEntries(bounds),
      ...(this.#gap.tokens > 0 && {
        'sampling/sampling_logp_difference/mean': this.#gap.sum / this.#gap.tokens,
        'sampling/sampling_logp_difference/max': this.#gap.max,
      }),
    };
  }

  #bound(name: string, value: number, choose: (a: number, b: number) => number): void {
    this.#bounds.set(name, choose(this.#bounds.get(name) ?? value, value));
  }
}
