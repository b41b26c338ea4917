/**
 * How far two right computations of a step lie apart, by the number type of the weights. Measured over all families, with
 * and without adapters, the bounds are 60 and more times the worst rounding in float32, and 3 times in half precision: of
 * a whole model a fault that is smaller there cannot be told from rounding, of one part it can.
 */
import type { DType } from '@grpo/torch';

export interface Tolerance {
  /** Nats, of the worst token. */
  token: number;
  /** Nats, of the root mean square of all tokens. */
  all: number;
  /** The same of the random number that draws a token, in shares of the distribution. */
  draw: Pick<Tolerance, 'token' | 'all'>;
  /** Distance of a tensor's gradient, relative to its norm. */
  gradient: number;
  /** Difference of the norms, relative; errors that have no direction hardly change it. */
  norm: number;
  /** Share of the largest tensor's norm that a tensor's gradient may be off by, when little is left of what it sums. */
  floor: number;
  /** Bounds of one part by itself: the relative distance of its output and gradients, and how far their share may lie from 1. */
  part?: { distance: number; share: number };
  /** Times as far as rounding moves the plain path that a log-prob and a gradient may lie off besides. */
  roundings: number;
}

const FULL: Tolerance = {
  ...{ token: 1e-3, all: 1e-4, gradient: 1e-3, norm: 1e-3, floor: 0.01, roundings: 0 },
  // Log-probs that are off by e move a share of the distribution by e / 2 at most.
  draw: { token: 5e-4, all: 5e-5 },
};
const HALF: Tolerance = {
  // A gradient of half its size is told by its norm, one in another direction by its distance.
  ...{ token: 1, all: 0.15, gradient: 0.7, norm: 0.4, floor: 0.05, roundings: 3 },
  // Errors of many tokens cancel out in a share: ten times what ten families came to, 0.012 and 0.0016.
  draw: { token: 0.12, all: 0.015 },
  // Layers of seven families with random weights come to 0.035 (biases of keys) and 0.007 at most, and to 0.01 and 0.001 for the most part; the head of eleven to 0.006 and 0.002.
  part: { distance: 0.05, share: 0.02 },
};

export const toleranceOf = (dtype: DType): Tolerance => (dtype === 'float32' ? FULL : HALF);

/** Nats of an event that chance does not bring: once in 10⁹ times. */
export const RARE = 21;
