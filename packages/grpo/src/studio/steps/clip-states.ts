import { formOf } from '../../doctor/recompute/form.js';
import type { Declared } from '../../trace/index.js';

/**
 * How the declared clip treats each ratio: 0 inside its range, −1 below, +1 above, 2 where it cuts the gradient off.
 * undefined for a policy term that has no range.
 *
 * @param advantage - of the completion
 */
export function clipStates(
  declared: Declared,
  ratios: ArrayLike<number>,
  advantage: number,
): Int8Array | undefined {
  const form = formOf(declared);
  if (typeof form === 'string') return undefined;
  const { clipLow, clipHigh = clipLow, delta = Number.POSITIVE_INFINITY, cap } = declared.objective ?? {};
  const states = (stateOf: (ratio: number) => number) => Int8Array.from(ratios, stateOf);
  const beyond = (below: boolean, above: boolean, isCapped: boolean) => {
    if ((below && advantage < 0) || (above && (advantage > 0 || (isCapped && advantage < 0)))) return 2;
    return below ? -1 : above ? 1 : 0;
  };
  switch (form.policy) {
    case 'clip':
      if (clipLow === undefined) return undefined;
      return states((ratio) => beyond(ratio < 1 - clipLow, ratio > 1 + clipHigh!, ratio > delta));
    case 'gmpo':
      if (clipLow === undefined) return undefined;
      return states((ratio) => beyond(Math.log(ratio) < -clipLow, Math.log(ratio) > clipHigh!, false));
    case 'cispo':
      // The ratio is a weight that is capped: the gradient stays.
      return cap === undefined ? undefined : states((ratio) => Number(ratio > cap));
    case 'dppo_tv':
    case 'dppo_kl':
    case 'reinforce':
    case 'sapo':
    case 'vespo':
      return undefined;
  }
}
