/** What the configuration says of the objective, in the terms of the functions that compute it. */
import type { Config } from '../config/schema.js';
import type { AdvantageSettings, LossSettings } from '../objective/index.js';

/** The loss that is configured. */
export function lossSettings({ objective, kl, entropy, correction }: Config): LossSettings {
  const [kPositive, lambdaPositive] = objective.vespoPositive;
  const [kNegative, lambdaNegative] = objective.vespoNegative;
  return {
    policy: objective.policy,
    ratio: objective.ratio,
    aggregation: objective.aggregation,
    normalizer: objective.normalizer,
    clipLow: objective.clipLow,
    clipHigh: objective.clipHigh,
    delta: objective.delta,
    cap: objective.cap,
    sapo: { positive: objective.slopePositive, negative: objective.slopeNegative },
    vespo: { kPositive, lambdaPositive, kNegative, lambdaNegative },
    kl,
    topEntropy: entropy.topShare,
    offPolicyThreshold: objective.offPolicyThreshold,
    ...(correction.level !== 'off' && { correction: { ...correction, level: correction.level } }),
    compat: objective.compat,
  };
}

/** The comparison of rewards that is configured. */
export function advantageSettings({ advantage, objective }: Config): AdvantageSettings {
  return { ...advantage, compat: objective.compat };
}
