import type { Config } from '../../config/schema.js';
import { decimal } from './number.js';

const estimates = {
  k1: '−d',
  k2: 'd² / 2',
  k3: 'exp(d) − d − 1',
  abs: '|d|',
};

const differences = {
  token: 'log π_ref(oᵢₜ) − log π(oᵢₜ)',
  sequence_mean: '1/|oᵢ| Σₜ (log π_ref(oᵢₜ) − log π(oᵢₜ))',
  sequence_sum: 'Σₜ (log π_ref(oᵢₜ) − log π(oᵢₜ))',
};

/** The KL to the reference. */
export function klText({ kl, teacher }: Config): string {
  const { estimator, level, clip, biasCorrected, referenceEvery, referenceMix } = kl;
  const bounded = clip === undefined ? '' : `, bounded to ± ${decimal(clip)}`;
  const value =
    estimator === 'full'
      ? 'Σᵥ π(v) (log π(v) − log π_ref(v)), over the vocabulary'
      : `${estimates[estimator]} (${estimator}), d = ${differences[level]}${bounded}`;
  const corrected = biasCorrected ? '; times π / π_old' : '';
  const mixed = `a mixture: every ${referenceEvery} updates ${decimal(100 * referenceMix)} % of the policy goes in`;
  const fixed = teacher.model ?? teacher.url;
  const reference = fixed === undefined ? 'the starting model' : `the teacher ${fixed}`;
  return `${value}${corrected}; π_ref is ${referenceEvery > 0 ? mixed : reference}`;
}

/** The weight of the KL, and how it changes. */
export function betaText({ kl }: Config): string {
  const { beta, control, target, band, up, down, rate, least, most, window, warmupSteps, warmup, kindKey } =
    kl;
  const bounds = `within ${decimal(least)} … ${most === undefined ? '∞' : decimal(most)}`;
  const measured = window > 1 ? `the median KL of ${window} steps` : 'the KL';
  const aim = target === undefined ? 'the target' : decimal(target);
  const moves = {
    fixed: '',
    adaptive: `; × ${decimal(up)} or × ${decimal(down)} after a step where ${measured} is more than ${decimal(100 * band)} % off ${aim}, ${bounds}`,
    lagrangian: `; + ${decimal(rate)} × (${measured} − ${aim}) after each step, ${bounds}`,
  }[control];
  const start = warmup === 'zero' ? `0 for ${warmupSteps} steps` : `rising from 0 over ${warmupSteps} steps`;
  return [
    `${decimal(beta)}${moves}`,
    ...(warmupSteps > 0 ? [start] : []),
    ...(kindKey === undefined ? [] : [`one for each ${kindKey}`]),
  ].join('; ');
}
