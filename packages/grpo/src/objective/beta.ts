/** The weight of the KL to the reference, β, where it changes in the course of a run. */
import type { Config } from '../config/schema.js';
import { median } from '../maths/quantile.js';

/** How β follows the KL. */
export type BetaSettings = Pick<
  Config['kl'],
  'control' | 'target' | 'band' | 'up' | 'down' | 'rate' | 'least' | 'most' | 'window'
>;

/** β, and the KL of the last steps, oldest first: those that it follows. */
export interface BetaState {
  beta: number;
  recent: number[];
}

/**
 * β after a step.
 *
 * @param kl - the KL itself, without β: β × KL falls with β, and a control by it never comes to rest
 */
export function nextBeta(state: BetaState, kl: number, settings: BetaSettings): BetaState {
  const { control, least, most = Number.POSITIVE_INFINITY, window } = settings;
  if (control === 'fixed') return state;
  const recent = [...state.recent, kl].slice(-window);
  const moved = controls[control](state.beta, median(recent), settings);
  return { beta: Math.min(Math.max(moved, least), most), recent };
}

const controls = {
  adaptive: (beta: number, kl: number, { target = 0, band, up, down }: BetaSettings) => {
    if (kl > target * (1 + band)) return beta * up;
    return kl < target * (1 - band) ? beta * down : beta;
  },
  /** Gradient ascent on the multiplier of the constraint KL ≤ target. */
  lagrangian: (beta: number, kl: number, { target = 0, rate }: BetaSettings) => beta + rate * (kl - target),
};

/**
 * β with which a step is taken.
 *
 * @param step - counted from 0
 */
export function warmedUp(
  beta: number,
  step: number,
  { warmupSteps, warmup }: Pick<Config['kl'], 'warmupSteps' | 'warmup'>,
): number {
  if (step >= warmupSteps) return beta;
  return warmup === 'zero' ? 0 : beta * (step / warmupSteps);
}
