import { z } from 'zod';
import { count, nonNegative, positiveCount } from './number-schemas.js';

/** When and how the model is evaluated. */
export const evalSection = z.strictObject({
  every: count
    .default(0)
    .describe('Steps between evaluations: 0 = only before and after')
    .meta({ unit: 'steps' }),
  samples: count
    .default(1)
    .describe(
      'Sampled completions per problem beside the greedy one: more narrows the interval, 0 = greedy only',
    )
    .meta({ unit: 'samples per problem' }),
  k: z
    .array(positiveCount)
    .optional()
    .describe(
      'The k of pass@k, estimated from eval.samples completions per problem. 1, 2, 4, … up to them when not given',
    ),
  temperature: nonNegative.default(1).describe('Temperature of the sampled completions'),
  limit: positiveCount
    .default(200)
    .describe('Most held-out problems to evaluate on: more narrows the interval and takes longer')
    .meta({ unit: 'problems' }),
  stopAt: z
    .number()
    .optional()
    .describe(
      'Ends the run after an evaluation whose greedy completions earn at least this mean reward. Never when not given',
    ),
  before: z.boolean().default(true).describe('Also evaluate before the first step, to compare with'),
});

/** Records of the steps. */
export const recordSection = z.strictObject({
  every: count
    .default(0)
    .describe(
      'Steps between full records of a step, beside those of the first two and of steps with a new finding: 0 = only those',
    )
    .meta({ unit: 'steps' }),
});

/** Checks, and what a run does about findings. */
export const doctorSection = z.strictObject({
  every: count
    .default(50)
    .describe(
      'Steps between audits, which compute a few completions again by an independent plain path, beside those of the first two steps, after a resume and before a checkpoint, if it is by the clock only while they take a tenth of the time: 0 = no audits',
    )
    .meta({ unit: 'steps' }),
  onFinding: z
    .union([
      z.enum(['warn', 'stop', 'off']),
      z.array(
        z.strictObject({
          finding: z.enum(['audit', 'fail', 'warn']),
          from: positiveCount.default(1),
          to: positiveCount.optional(),
          do: z.enum(['continue', 'stop']),
        }),
      ),
    ])
    .default('warn')
    .describe(
      'Every step is checked. warn = a failed check of a step stops the run in the first two steps and where the step before failed it too, a failed audit at any step, and other findings are reported; stop = every failure stops it; off = no checks; or rules such as [{finding: warn, to: 10, do: stop}]: the first that holds of finding and step counts',
    ),
});

/** Whether steps of a run are audited. */
export const isAudited = ({ doctor }: { doctor: z.output<typeof doctorSection> }): boolean =>
  doctor.every > 0 && doctor.onFinding !== 'off';

/** When the run can be resumed from. */
export const checkpointSection = z.strictObject({
  every: count
    .default(0)
    .describe('Steps between checkpoints, beside those of checkpoint.minutes: 0 = only these')
    .meta({ unit: 'steps' }),
  minutes: nonNegative
    .default(10)
    .describe(
      'Minutes between checkpoints, each after a whole step: a crash loses at most this much; 0 = never by time',
    )
    .meta({ unit: 'minutes' }),
  keep: positiveCount
    .default(2)
    .describe('Newest checkpoints kept on disk, beside one that an error left; older ones are deleted')
    .meta({ unit: 'checkpoints' }),
});
