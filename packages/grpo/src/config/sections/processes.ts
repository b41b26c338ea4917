import { z } from 'zod';
import { positive } from './number-schemas.js';

/** A run of several processes. */
export const processesSection = z.strictObject({
  timeout: positive
    .default(10)
    .describe(
      'Minutes that one of several processes may go without progress before all end: more tolerates longer steps, less notices a hang earlier',
    )
    .meta({ unit: 'minutes' }),
});
