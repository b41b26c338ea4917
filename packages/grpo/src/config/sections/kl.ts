import { z } from 'zod';
import { BETA_CONTROLS, KL_ESTIMATORS, KL_LEVELS, KL_PLACES, WARMUPS } from '../choices.js';
import { count, nonNegative, positive, positiveCount } from './number-schemas.js';

/** The KL to the reference. */
export const klSection = z.strictObject({
  beta: nonNegative
    .default(0)
    .describe(
      'Weight of the KL to the starting model, at first where it changes: more stays closer to it; 0 = off, saves a pass and its memory',
    )
    .meta({ unit: 'reward per nat' }),
  estimator: z
    .enum(KL_ESTIMATORS)
    .default('k3')
    .describe(
      'Estimate of the KL from log-probs, or the full one over the vocabulary (one more forward pass per micro-batch)',
    ),
  level: z
    .enum(KL_LEVELS)
    .default('token')
    .describe("Of each token, or of a completion's mean or summed log-probs"),
  place: z
    .enum(KL_PLACES)
    .default('loss')
    .describe('Added to the loss, or taken from the reward before the advantages'),
  biasCorrected: z
    .boolean()
    .default(false)
    .describe('Multiplies the KL by the ratio, which makes it the KL of the policy that is trained'),
  clip: positive
    .optional()
    .describe(
      'Bounds the difference of log-probs to +- this, in nats: less tames outliers. Off when not given',
    )
    .meta({ unit: 'nats' }),
  warmupSteps: count
    .default(0)
    .describe('Steps before kl.beta has its full weight: more lets the policy move first')
    .meta({ unit: 'steps' }),
  warmup: z
    .enum(WARMUPS)
    .default('linear')
    .describe('During the warm-up the weight rises linearly from 0, or is 0'),
  control: z
    .enum(BETA_CONTROLS)
    .default('fixed')
    .describe(
      'After each step the weight stays; is multiplied by kl.up or kl.down when the KL is off kl.target; or moves by kl.rate × (KL - target)',
    ),
  target: positive
    .optional()
    .describe(
      'KL, as the metric kl has it, that the weight is moved towards: more lets the policy go further',
    )
    .meta({ unit: 'nats' }),
  band: nonNegative
    .default(0.05)
    .describe(
      'control=adaptive: share of the target by which the KL may be off it: more leaves the weight alone',
    )
    .meta({
      unit: 'of the target',
      appliesTo: { key: 'kl.control', values: ['adaptive'], else: 'does not use it' },
    }),
  up: z
    .number()
    .gt(1)
    .default(1.1)
    .describe(
      'control=adaptive: factor of the weight when the KL is too large: more reacts faster and overshoots',
    )
    .meta({ appliesTo: { key: 'kl.control', values: ['adaptive'], else: 'does not use it' } }),
  down: z
    .number()
    .gt(0)
    .lt(1)
    .default(0.9)
    .describe(
      'control=adaptive: factor of the weight when the KL is too small: less reacts faster and overshoots',
    )
    .meta({ appliesTo: { key: 'kl.control', values: ['adaptive'], else: 'does not use it' } }),
  rate: positive
    .default(0.1)
    .describe('control=lagrangian: more reacts faster to a KL that is off the target, and overshoots')
    .meta({
      unit: 'per nat',
      appliesTo: { key: 'kl.control', values: ['lagrangian'], else: 'does not use it' },
    }),
  least: nonNegative
    .default(0)
    .describe('Lower bound of a weight that changes: more always holds the policy back'),
  most: positive
    .optional()
    .describe('Upper bound of a weight that changes: less never stops the policy. None when not given'),
  window: positiveCount
    .default(1)
    .describe('Steps whose median KL the weight follows: more is steadier and slower')
    .meta({ unit: 'steps' }),
  kindKey: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Field of a row that names the kind of its problem: rewards, lengths, signal and KL are reported per kind, and each kind has its own KL weight. One weight for all when not given',
    ),
  referenceEvery: count
    .default(0)
    .describe(
      'Updates after which the policy is mixed into the reference: fewer hold it back less. 0 = never',
    )
    .meta({ unit: 'updates' }),
  referenceMix: z
    .number()
    .gt(0)
    .max(1)
    .default(0.6)
    .describe('Share of the policy in that mixture: more moves the reference further, 1 replaces it')
    .meta({ unit: 'of the policy' }),
});
