import { expect, it } from 'vitest';
import { resolveConfig } from '../../config/index.js';
import { learningRateAt } from '../../run/schedule.js';
import { plainRate } from './plain-rate.js';

it.each(['constant', 'linear', 'cosine', 'step', 'advanced'])(
  '%s: is that of every step, to its end',
  (schedule) => {
    const settings = ['task.name=arithmetic', `optimizer.schedule=${schedule}`, 'optimizer.warmupSteps=10'];
    const { optimizer } = resolveConfig({
      command: 'train',
      settings: [...settings, 'train.steps=10000'],
    }).config;
    for (const steps of [11, 700, 10_000])
      for (let step = 0; step < steps; step++) {
        const apart = Math.abs(
          learningRateAt(optimizer, step, steps) - plainRate(optimizer, step + 1, steps),
        );
        // What the audit allows: a share of the peak, as near its end a cosine is the difference of numbers of that size.
        if (apart > 1e-12 * optimizer.learningRate) expect({ step, steps, apart }).toEqual({});
      }
  },
);
