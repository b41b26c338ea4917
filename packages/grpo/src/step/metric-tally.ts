import type { Tensor } from '@grpo/torch';
import { sum as sumOf } from '../maths/moments.js';
import type { LossMetrics, Share } from '../objective/index.js';
import type { MicroBatchPass } from './observer.js';

/** Sums over the micro-batches of an update or a step, and their means. */
export class MetricTally {
  readonly #means = new Map<string, Share>();
  readonly #least = new Map<string, number>();
  readonly #most = new Map<string, number>();
  /** Of all tokens under '', and by server where several sampled. */
  readonly #gaps = new Map<string, LogprobGap>();

  add({ means, least = {}, most = {} }: LossMetrics): void {
    for (const [name, { sum, of }] of Object.entries(means)) {
      const own = this.#means.get(name) ?? { sum: 0, of: 0 };
      this.#means.set(name, { sum: own.sum + sum, of: own.of + of });
    }
    bound(this.#least, least, Math.min);
    bound(this.#most, most, Math.max);
  }

  /** Takes in another's sums. */
  merge(other: MetricTally): void {
    this.add({
      means: Object.fromEntries(other.#means),
      least: Object.fromEntries(other.#least),
      most: Object.fromEntries(other.#most),
    });
    for (const [server, gap] of other.#gaps) this.#addGap(server, gap);
  }

  /**
   * Takes in how far the trainer's log-probs are from the sampler's, for the same weights and tokens.
   *
   * @param server - that sampled them, where it is one of several
   */
  compare(trainer_T: Tensor, sampler_T: Tensor, server = ''): void {
    const distances = trainer_T.detach().sub(sampler_T).abs();
    this.#addGap(server, {
      tokens: distances.numel,
      sum: distances.sum().item(),
      max: distances.amax([]).item(),
      ratios: distances.exp().sum().item(),
    });
  }

  #addGap(server: string, { tokens, sum, max, ratios }: LogprobGap): void {
    const own = this.#gaps.get(server) ?? { tokens: 0, sum: 0, max: 0, ratios: 0 };
    this.#gaps.set(server, {
      tokens: own.tokens + tokens,
      sum: own.sum + sum,
      max: Math.max(own.max, max),
      ratios: own.ratios + ratios,
    });
  }

  /** By name; a mean of nothing is left out. */
  get values(): Record<string, number> {
    const means = [...this.#means].filter(([, { of }]) => of > 0);
    const bounds = [...this.#least, ...this.#most].filter(([, value]) => Number.isFinite(value));
    return {
      ...Object.fromEntries(means.map(([name, { sum, of }]) => [name, sum / of])),
      ...Object.fromEntries(bounds),
      ...Object.assign({}, ...[...this.#gaps].map(([server, gap]) => gapMetrics(server, gap))),
    };
  }
}

/** How far the trainer's log-probs are from the sampler's. */
interface LogprobGap {
  tokens: number;
  sum: number;
  max: number;
  /** Sum of exp |difference|. */
  ratios: number;
}

function gapMetrics(server: string, { tokens, sum, max, ratios }: LogprobGap): Record<string, number> {
  const of = server && `/${server}`;
  return {
    [`sampling/sampling_logp_difference/mean${of}`]: sum / tokens,
    [`sampling/sampling_logp_difference/max${of}`]: max,
    // As NeMo-RL names it.
    [`sampling/token_mult_prob_error${of}`]: ratios / tokens,
  };
}

function bound(
  bounds: Map<string, number>,
  values: Readonly<Record<string, number>>,
  choose: (a: number, b: number) => number,
) {
  for (const [name, value] of Object.entries(values))
    bounds.set(name, choose(bounds.get(name) ?? value, value));
}

/** Metrics of a micro-batch: the loss's own, and the mean entropy of the tokens that are trained on. */
export function metricsOfPass({ scores, input, output }: MicroBatchPass): LossMetrics {
  const { metrics } = output;
  return { ...metrics, means: { entropy: meanOf(scores.entropies_T, input.mask!), ...metrics?.means } };
}

/** Sum over the trained tokens, and how many they are. */
function meanOf(values_T: Tensor, mask: Uint8Array): Share {
  const values = values_T.detach().toNumbers();
  return { sum: values.reduce((total, value, t) => total + (mask[t] ? value : 0), 0), of: sumOf(mask) };
}
