import type { Config } from '../config/schema.js';

/**
 * Learning rate of a step: rising linearly over the warm-up, then constant, or falling to 0 after the last step
 * (linearly, or along half a cosine).
 *
 * @param step - counted from 0
 */
export function learningRateAt(options: Config['optimizer'], step: number, steps: number): number {
  const { learningRate, schedule, warmupSteps } = options;
  if (step < warmupSteps) return learningRate * ((step + 1) / warmupSteps);
  const progress = (step - warmupSteps) / Math.max(1, steps - warmupSteps);
  switch (schedule) {
    case 'constant':
      return learningRate;
    case 'linear':
      return learningRate * (1 - progress);
    case 'cosine':
      return (learningRate * (1 + Math.cos(Math.PI * progress))) / 2;
  }
}
