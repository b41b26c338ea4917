/** The inference servers that sampled a step's completions, and what shows which weights each of them had. */
import { z } from 'zod';
import { floats, ints } from './arrays.js';
import { real } from './real.js';

/**
 * One prompt, scored and sampled after the weights were handed over. All log-probs are at temperature 1. The completion is
 * the same in every probe of a run until it is resumed; the sampled ones are new each time.
 */
const weightProbeSchema = z.object({
  /** Version of the weights that were handed over, and the one that the server answered with. */
  expected: z.string(),
  answered: z.string(),
  /** Version of the time before, whose log-probs `before` has. */
  previous: z.string().optional(),
  /** Checksums of the weights in this process and on the server, where it tells one. */
  checksums: z.object({ trainer: real, server: real }).optional(),
  prompt: ints,
  completion: ints,
  /** Log-probs of the completion by the trainer: with the weights handed over, and with those of the time before. */
  trainer: floats,
  before: floats.optional(),
  /** By the server, after its cache was emptied. */
  cold: floats,
  /** Completions that the server sampled before that, with whatever it had cached of the prompt, and their log-probs. */
  sampled: ints,
  sampledLengths: ints,
  warm: floats,
  /** Log-probs of the sampled tokens by the trainer. */
  rescored: floats,
  /** Root mean square distance that rounding explains, in nats per token. */
  bound: real,
  seconds: real.optional(),
});

export const serverSchema = z.object({
  /** Host and port. */
  name: z.string(),
  /** What answers, such as `vllm 0.11.0`. */
  software: z.string().optional(),
  /** Number type of its weights. */
  dtype: z.string().optional(),
  /** Whether it computes by the trainer's own engine: then its log-probs are held to the bounds of one engine. */
  isOwnEngine: z.boolean().optional(),
  probe: weightProbeSchema.optional(),
});

export type ServerRecord = z.output<typeof serverSchema>;
export type WeightProbe = z.output<typeof weightProbeSchema>;
