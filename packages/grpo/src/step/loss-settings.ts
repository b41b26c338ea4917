/** What the objective reads of the configuration. */
import type { Config } from '../config/schema.js';
import type { AdvantageSettings, LossSettings } from '../objective/index.js';

/** The loss that is configured. */
export const lossSettings = ({ objective, kl, entropy, correction }: Config): LossSettings => ({
  ...objective,
  kl,
  entropy,
  correction,
});

/** The comparison of rewards that is configured. */
export const advantageSettings = ({ advantage, objective }: Config): AdvantageSettings => ({
  ...advantage,
  compat: objective.compat,
});
