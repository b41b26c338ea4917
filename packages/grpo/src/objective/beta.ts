/** The weight of the KL to the reference, β, where it changes in the course of a run. */
import { median } from '../maths/quantile.js';

/** How β follows the KL. */
export interface BetaSettings {
  /** Stays; is multiplied outside of a band around the target; or moves by its distance from it. */
  control: 'fixed' | 'adaptive' | 'lagrangian';
  /** KL that β is to bring about; needed unless β is fixed. */
  target?: number | undefined;
  /** `adaptive` leaves β alone while the KL is within target × (1 ± band). */
  band: number;
  /** `adaptive` multiplies β by `up` above the band, by `down` below it. */
  up: number;
  down: number;
  /** `lagrangian` adds this × (KL − target). */
  rate: number;
  /** Bounds of β. */
  least: number;
  most?: number | undefined;
  /** β follows the median KL of so many steps. */
  window: number;
}

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

/** How a run begins. */
export interface BetaWarmup {
  warmupSteps: number;
  /** β rises in a line from 0, or is 0, until the warm-up is over. */
  warmup: 'linear' | 'zero';
}

/**
 * β with which a step is taken.
 *
 * @param step - counted from 0
 */
export function warmedUp(beta: number, step: number, { warmupSteps, warmup }: BetaWarmup): number {
  if (step >= warmupSteps) return beta;
  return warmup === 'zero' ? 0 : beta * (step / warmupSteps);
}
