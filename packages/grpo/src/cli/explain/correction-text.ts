import type { Config } from '../../config/schema.js';
import { decimal } from './number.js';

type Correction = Config['correction'];

const RATIO = 'π_old(oᵢₜ) / π_sampler(oᵢₜ)';

const distances = {
  probability: '|π_old(oᵢₜ) − π_sampler(oᵢₜ)|',
  k3: 'q − 1 − log q, q = π_old(oᵢₜ) / π_sampler(oᵢₜ),',
  binary_kl: 'the larger KL of π_old and π_sampler, either way, of the outcomes oᵢₜ and any other',
};

const wholes = {
  sequence: { ratio: `Πₜ ${RATIO}`, distance: 'the sum over oᵢ of ' },
  sequence_mean: { ratio: `exp(1/|oᵢ| Σₜ log(${RATIO}))`, distance: 'the mean over oᵢ of ' },
  sequence_max: { ratio: `the largest ${RATIO} of oᵢ`, distance: 'the largest in oᵢ of ' },
};

/** Whether each token has a weight of its own. */
const isOfTokens = ({ level, measure, action }: Correction) =>
  level === 'token' || (action !== 'reject' && (measure !== 'ratio' || level === 'sequence_max'));

export const weightSymbol = ({ correction }: Pick<Config, 'correction'>): string =>
  isOfTokens(correction) ? 'cᵢₜ' : 'cᵢ';

/** The weight of the correction for the sampler. */
export function correctionText(correction: Correction): string {
  const { level, measure, action, min, max } = correction;
  const bounds = [min === undefined ? '0' : decimal(min), max === undefined ? '∞' : decimal(max)].join(' … ');
  if (level === 'off') return '1';
  const whole = level === 'token' ? { ratio: RATIO, distance: '' } : wholes[level];
  const measured = measure === 'ratio' ? whole.ratio : `${whole.distance}${distances[measure]}`;
  if (action === 'truncate') return `${measured} bounded to ${bounds}`;
  const weight = isOfTokens(correction) ? RATIO : whole.ratio;
  if (action === 'mask' && weight === measured) return `${measured}, 0 outside of ${bounds}`;
  const kept = action === 'reject' ? '1' : weight;
  return measure === 'ratio'
    ? `${kept} where ${measured} is within ${bounds}, else 0`
    : `${kept} where ${measured} is at most ${max === undefined ? '∞' : decimal(max)}, else 0`;
}
