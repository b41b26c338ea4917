import type { Config } from '../config/schema.js';

type Schedule = Config['optimizer']['schedule'];

/**
 * Learning rate of a step: rising linearly over the warm-up, then constant or falling to `minLearningRate`, as the
 * schedule has it.
 *
 * @param step - counted from 0
 */
export function learningRateAt(options: Config['optimizer'], step: number, steps: number): number {
  const { learningRate, minLearningRate, schedule, warmupSteps } = options;
  if (step < warmupSteps) return learningRate * ((step + 1) / warmupSteps);
  const progress = (step - warmupSteps) / Math.max(1, steps - warmupSteps);
  const part = parts[schedule](progress);
  return part === 1 ? learningRate : minLearningRate + (learningRate - minLearningRate) * part;
}

/** From 1 at a progress of 0 down to 0 at 1, along half a cosine. */
const cosine = (progress: number) => (1 + Math.cos(Math.PI * progress)) / 2;

/** Part of the learning rate that is left. */
const parts: Record<Schedule, (progress: number) => number> = {
  constant: () => 1,
  linear: (progress) => 1 - progress,
  cosine,
  step: (progress) => {
    if (progress < 1 / 3) return 1;
    return progress < 2 / 3 ? 0.5 : 0.25;
  },
  advanced: (progress) =>
    progress < 0.7 ? 0.05 + 0.95 * cosine(progress / 0.7) : (0.05 * (1 - progress)) / 0.3,
};
