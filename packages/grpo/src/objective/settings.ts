/** What the configuration says of advantages and loss, in its own words. */
import type { Config } from '../config/schema.js';

/** The section `objective`, with the others that a loss reads. */
export type LossSettings = Config['objective'] & Pick<Config, 'kl' | 'entropy' | 'correction'>;

/** The section `advantage`, and whose numbers are taken. */
export type AdvantageSettings = Config['advantage'] & Pick<Config['objective'], 'compat'>;
