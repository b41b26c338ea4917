import { z } from 'zod';
import { count } from './number-schemas.js';

/** Groups that teach nothing, and completions that grow too long. */
export const groupsSection = z.strictObject({
  refills: count
    .default(0)
    .describe(
      'Most extra rounds of sampling a step, in which groups without a difference in reward give way to those of further problems (dynamic sampling): more fills the step with signal and takes longer, 0 = off',
    )
    .meta({ unit: 'rounds a step' }),
  replay: count
    .default(0)
    .describe(
      'Groups with differing rewards that are stored, to take the place of later ones without: more keeps older ones, 0 = off',
    )
    .meta({ unit: 'groups' }),
  overlongBuffer: count
    .default(0)
    .describe(
      'Tokens before rollout.maxNewTokens over which a reward named overlong falls from 0 to -1: more punishes length sooner, 0 = off',
    )
    .meta({ unit: 'tokens' }),
});
