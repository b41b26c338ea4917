/** Which weights a server has, by the log-probs that it gave to tokens that the trainer scored with both. */
import { sum } from '../../maths/moments.js';
import type { StepRecord, WeightProbe } from '../../trace/index.js';

/** Standard errors between the log-probs of two weights from which on they can be told apart. */
const APART = 16;

/** Times the distance of cold log-probs, and of rounding, from which on warm ones are not explained by either. */
const WARM = 4;

/** Share of the bound that the distance of a few tokens may reach though that of others did not. */
const LEAST = 0.125;

/** The probes of a step's servers. */
export const probesOf = ({ servers = [] }: StepRecord): { name: string; probe: WeightProbe }[] =>
  servers.flatMap(({ name, probe }) => (probe ? [{ name, probe }] : []));

/**
 * `current`: the weights that were handed over. `stale`: those of the time before. `other`: neither. `not conclusive`: the
 * two lie too close together to tell, or those of the time before are not known.
 */
export type Weights = 'current' | 'stale' | 'other' | 'not conclusive';

export interface ColdVerdict {
  weights: Weights;
  /** Root mean square distance of the server's log-probs from the trainer's, with the new weights, and its bound. */
  distance: number;
  bound: number;
  /** That from the old weights to the new ones; NaN where the old ones are not known. */
  apart: number;
  /** How far from the old weights (0) to the new ones (1) the server's log-probs lie. */
  position: number;
}

/**
 * Tells which weights scored the completion of a probe. The server's log-probs are placed on the way from the old weights
 * to the new ones: what its kernels add is no part of that way, so that updates far smaller than its rounding show.
 */
export function weightsOf({ trainer, before, cold, bound }: WeightProbe): ColdVerdict {
  const distance = rms(differences(cold, trainer));
  const unknown = { distance, bound, apart: Number.NaN, position: Number.NaN };
  // A distance that is NaN is beyond the bound.
  const isNear = distance <= bound;
  if (!before) return { ...unknown, weights: isNear ? 'not conclusive' : 'other' };
  const way = differences(trainer, before);
  const gone = differences(cold, before);
  const length = Math.sqrt(dot(way, way));
  const position = dot(gone, way) / (length * length);
  const rest = gone.map((value, t) => value - position * way[t]!);
  const noise = Math.sqrt(dot(rest, rest) / Math.max(1, rest.length - 1));
  const measured = { distance, bound, apart: rms(way), position };
  if (length > APART * noise && position < 0.5 && rms(gone) <= bound)
    return { ...measured, weights: 'stale' };
  if (!isNear) return { ...measured, weights: 'other' };
  return { ...measured, weights: length > APART * noise ? 'current' : 'not conclusive' };
}

/** Whether checksums settle what log-probs leave open; undefined where there are none. */
export const hasEqualChecksums = ({ checksums }: WeightProbe): boolean | undefined =>
  checksums && checksums.trainer === checksums.server;

export interface WarmVerdict {
  cache: 'current' | 'stale' | 'not conclusive';
  /** Root mean square distance of the warm log-probs from the trainer's, and the largest that is explained. */
  distance: number;
  bound: number;
}

/** Tells whether what a server had cached of the prompt was made by the weights that it has now. */
export function cacheOf(probe: WeightProbe): WarmVerdict {
  const { warm, rescored } = probe;
  const cold = weightsOf(probe);
  const distance = rms(differences(warm, rescored));
  // The cold probe shows how much the server's kernels differ; a small part of the bound is always allowed.
  const bound = Math.min(cold.bound, WARM * Math.max(cold.distance, LEAST * cold.bound));
  if (!(distance <= bound)) return { cache: 'stale', distance, bound };
  // A stale cache would have moved the log-probs by about as much as new weights do.
  return { cache: cold.apart > bound ? 'current' : 'not conclusive', distance, bound };
}

const differences = (a: Float32Array, b: Float32Array) => Float64Array.from(a, (value, t) => value - b[t]!);

const dot = (a: Float64Array, b: Float64Array) => sum(a.map((value, t) => value * b[t]!));

const rms = (values: Float64Array) => Math.sqrt(dot(values, values) / values.length);
