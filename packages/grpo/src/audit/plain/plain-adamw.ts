/** Half a unit in the last place of float32, as a share: what one operation may round. */
export const ROUNDING = 2 ** -24;

/** Units in the last place that CUDA's powf may be off by: CUDA C++ Programming Guide, mathematical functions. */
const POWER_ULPS = 4;

/** Below it a float32 has fewer digits, or is 0. */
const SMALLEST = 2 ** -126;

/** A weight, and what the optimizer keeps of its gradients. */
export const WEIGHT_PARTS = ['weight', 'mean', 'square'] as const;

export type WeightPart = (typeof WEIGHT_PARTS)[number];

/** What a run declares of its updates. */
export interface AdamWSettings {
  learningRate: number;
  beta1: number;
  beta2: number;
  epsilon: number;
  weightDecay: number;
  /** Whether the decays and their powers are float32 numbers, as in libtorch's kernel for CUDA. */
  singleDecays: boolean;
}

/** A number, and how far a float32 computation of it may be off. */
export interface Bounded {
  value: number;
  bound: number;
}

/** What gradients are multiplied by, so that their norm is at most `maxNorm`; 0 leaves them. */
export const clipFactor = (norm: number, maxNorm: number): number =>
  maxNorm > 0 && norm > maxNorm ? maxNorm / (norm + 1e-6) : 1;

/**
 * One step of AdamW (Loshchilov and Hutter, 2019, algorithm 2) for one weight, in doubles.
 *
 * @param gradient - after clipping
 * @param step - counted from 1
 */
export function plainAdamW(
  { weight, mean, square }: Record<WeightPart, number>,
  gradient: number,
  step: number,
  { learningRate: rate, epsilon, weightDecay, singleDecays, ...decays }: AdamWSettings,
): Record<WeightPart, Bounded> {
  // 1 − β₂ keeps few digits of a β₂ in float32.
  const decay = (beta: number) => (singleDecays ? Math.fround(beta) : beta);
  const [beta1, beta2] = [decay(decays.beta1), decay(decays.beta2)];
  const newMean = beta1 * mean + (1 - beta1) * gradient;
  const newSquare = beta2 * square + (1 - beta2) * gradient * gradient;
  const meanScale = 1 - beta1 ** step;
  const squareScale = 1 - beta2 ** step;
  const denominator = Math.sqrt(newSquare / squareScale) + epsilon;
  const change = newMean / meanScale / denominator;
  // Clipping rounds a gradient twice; its weight, product and sum, and the difference to the old mean, once each.
  const meanBound = 6 * ROUNDING * (Math.abs(mean) + (1 - beta1) * Math.abs(gradient));
  const squareBound = 8 * ROUNDING * newSquare + SMALLEST;
  // The largest quotient that these bounds allow.
  const powerBound = (beta: number) => (singleDecays ? 2 * POWER_ULPS * ROUNDING * beta ** step : 0);
  const least = Math.sqrt(Math.max(0, newSquare - squareBound) / (squareScale + powerBound(beta2))) + epsilon;
  const most = (Math.abs(newMean) + meanBound) / Math.max(0, meanScale - powerBound(beta1)) / least;
  const changeBound = rate * (most - Math.abs(change) + 8 * ROUNDING * most);
  return {
    mean: { value: newMean, bound: meanBound + SMALLEST },
    square: { value: newSquare, bound: squareBound },
    weight: {
      value: weight - rate * weightDecay * weight - rate * change,
      // Decay and change are each subtracted from the weight.
      bound: 3 * ROUNDING * Math.abs(weight) + changeBound + SMALLEST,
    },
  };
}

const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);

/** The nearest bfloat16, the even one of two. */
export function roundToBfloat16(value: number): number {
  float[0] = value;
  bits[0] = (bits[0]! + 0x7fff + ((bits[0]! >>> 16) & 1)) & 0xffff0000;
  return float[0]!;
}
