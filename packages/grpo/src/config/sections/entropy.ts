import { z } from 'zod';
import { nonNegative, positive, probability } from './number-schemas.js';

/** The entropy of the policy. */
export const entropySection = z.strictObject({
  coefficient: nonNegative
    .default(0)
    .describe('Weight of the entropy bonus: more keeps the policy undecided for longer, 0 = off')
    .meta({ unit: 'reward per nat' }),
  topShare: probability
    .default(1)
    .describe(
      'Share of the tokens, those of highest entropy, that the policy learns from: less is sparser, 1 = all',
    )
    .meta({ unit: 'of the tokens' }),
  adaptive: z
    .boolean()
    .default(false)
    .describe(
      'The weight follows the entropy: it grows after an update at or below entropy.target, falls after one above, and is off there',
    ),
  target: positive
    .default(0.2)
    .describe('Entropy, in nats per token, that entropy.adaptive holds: more keeps the policy more undecided')
    .meta({ unit: 'nats per token' }),
  delta: positive
    .default(0.005)
    .describe('Change of the adaptive weight per update: more reacts faster and swings further')
    .meta({ unit: 'per update' }),
  least: nonNegative
    .default(0)
    .describe('Lower bound of the adaptive weight: more keeps a bonus at all times'),
  most: positive.default(1).describe('Upper bound of the adaptive weight: less protects the reward'),
});
