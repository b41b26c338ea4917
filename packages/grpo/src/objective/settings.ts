/** Settings of advantages and loss, as the configuration has them. */
import type { Config } from '../config/schema.js';

/** The section `objective`, with the others that a loss reads. */
export type LossSettings = Config['objective'] & Pick<Config, 'kl' | 'entropy' | 'correction'>;

/** The section `advantage`, and the trainer whose conventions apply. */
export type AdvantageSettings = Config['advantage'] & Pick<Config['objective'], 'compat'>;
