/** What a run declares of its learning rate. */
export interface RateSettings {
  learningRate: number;
  minLearningRate: number;
  warmupSteps: number;
  schedule: 'constant' | 'linear' | 'cosine' | 'step' | 'advanced';
}

/**
 * The learning rate that the settings declare for a step.
 *
 * @param step - counted from 1
 * @param steps - of the run
 */
export function plainRate(declared: RateSettings, step: number, steps: number): number {
  const { learningRate: full, minLearningRate: least, warmupSteps, schedule } = declared;
  if (step <= warmupSteps) return (full * step) / warmupSteps;
  if (schedule === 'constant') return full;
  // The first step after the warm-up has the whole rate; the step after the last one would have the least.
  const done = (step - 1 - warmupSteps) / Math.max(steps - warmupSteps, 1);
  return least + (full - least) * partAt(schedule, done);
}

/** Part of the rate that is left when `done` of the steps after the warm-up are done. */
function partAt(schedule: Exclude<RateSettings['schedule'], 'constant'>, done: number): number {
  switch (schedule) {
    case 'linear':
      return 1 - done;
    case 'cosine':
      return Math.cos((Math.PI / 2) * done) ** 2;
    case 'step':
      return 0.5 ** Math.floor(3 * done);
    case 'advanced':
      // To 5 % along a cosine over 70 % of the steps, then linearly to 0.
      if (done < 0.7) return 0.05 + 0.95 * Math.cos(((Math.PI / 2) * done) / 0.7) ** 2;
      return (0.05 * (1 - done)) / (1 - 0.7);
  }
}
