import { z } from 'zod';
import { count } from './number-schemas.js';

/** Groups that teach nothing, and completions that grow too long. */
export const groupsSection = z.strictObject({
  refills: count
    .default(0)
    .describe(
      'Most extra rounds of sampling per step; each replaces the groups whose rewards are equal by groups of further problems (dynamic sampling): more leaves fewer flat groups and takes longer, 0 = off',
    )
    .meta({ unit: 'rounds per step' }),
  replay: count
    .default(0)
    .describe(
      'Stored groups whose rewards differ; they replace later groups whose rewards are equal: more keeps older ones, 0 = off',
    )
    .meta({ unit: 'groups' }),
  overlongBuffer: count
    .default(0)
    .describe(
      'Tokens before rollout.maxNewTokens over which a reward named overlong falls from 0 to -1: more punishes length sooner, 0 = off',
    )
    .meta({ unit: 'tokens' }),
});
