/** The policy's part of the loss, token by token, as `objective/policy-term.ts` has it. */
import type { Declared, DeclaredSection } from '../../trace/index.js';
import type { Form } from './form.js';
import { correctionsOf, corrects, type Kept, offPolicyFactor, trustRegionFactor } from './masks.js';
import { gapOf, meanOver, type Row, sumOver } from './row.js';

export interface PolicyRow extends Row {
  advantage: number;
  /** As the loss used them. */
  ratios: ArrayLike<number>;
  /** Log-probs of the sampler. */
  sampler?: Float32Array | undefined;
  /** Of the tokens of highest entropy; all are kept when missing. */
  top?: Kept | undefined;
}

/** Settings of each policy term. */
const SETTINGS: Readonly<Record<Form['policy'], readonly (keyof DeclaredSection<'objective'>)[]>> = {
  clip: ['clipLow'],
  reinforce: [],
  cispo: ['cap'],
  sapo: ['slopePositive', 'slopeNegative'],
  vespo: ['vespoPositive', 'vespoNegative'],
  gmpo: ['clipLow'],
  dppo_tv: ['divergenceLow', 'cap'],
  dppo_kl: ['divergenceLow', 'cap'],
};

/** The advantage of a token: that of its completion. */
export const advantageOf = ({ advantage }: Pick<PolicyRow, 'advantage'>, _token: number): number => advantage;

/** The settings that a policy term needs and that are not declared, as text. */
export function missingOf({ policy }: Form, declared: Declared): string | undefined {
  const { objective = {}, correction = {} } = declared;
  const missing = SETTINGS[policy]
    .filter((key) => objective[key] === undefined)
    .map((key) => `declared.objective.${key}`);
  if (corrects(declared) && !correction.action) missing.push('declared.correction.action');
  return missing.length > 0 ? missing.join(', ') : undefined;
}

/** The term of each trained token; NaN where rounding decides whether it is left out. */
export function policyTermsOf(form: Form, declared: Declared, row: PolicyRow): Float64Array {
  const { policy, sampler, advantage, top } = row;
  const { objective = {}, correction = {} } = declared;
  const corrections = corrects(declared) && sampler ? correctionsOf(correction, row, sampler) : undefined;
  const terms = termsOf(form.policy, objective, row, corrections);
  const near =
    objective.offPolicyThreshold === undefined
      ? 1
      : offPolicyFactor(objective.offPolicyThreshold, row, sampler, advantage);
  for (let t = 0; t < policy.length; t++) {
    let factor = near;
    // The mean of gmpo is one over the tokens that are kept, the weight of vespo has the correction in it.
    if (top && form.policy !== 'gmpo') factor *= top.close[t] ? Number.NaN : top.kept[t]!;
    if (corrections && form.policy !== 'vespo') factor *= corrections[t]!;
    terms[t] = factor === 0 ? 0 : terms[t]! * factor;
  }
  return terms;
}

function termsOf(
  policy: Form['policy'],
  objective: DeclaredSection<'objective'>,
  row: PolicyRow,
  corrections: Float64Array | undefined,
): Float64Array {
  const { ratios } = row;
  const { clipLow = 0, clipHigh = clipLow, delta = Number.POSITIVE_INFINITY, cap = Infinity } = objective;
  const each = (term: (t: number, A: number) => number) => {
    const terms = new Float64Array(row.policy.length);
    for (let t = 0; t < terms.length; t++) terms[t] = term(t, advantageOf(row, t));
    return terms;
  };
  switch (policy) {
    case 'clip':
      return each((t, A) => {
        const ratio = ratios[t]!;
        const bounded = Math.max(1 - clipLow, Math.min(1 + clipHigh, ratio));
        return -Math.min(Math.min(ratio, delta) * A, bounded * A);
      });
    case 'reinforce':
      return each((t, A) => -A * row.policy[t]!);
    case 'cispo':
      return each((t, A) => -Math.min(ratios[t]!, cap) * A * row.policy[t]!);
    case 'sapo':
      return each((t, A) => {
        const slope = A > 0 ? objective.slopePositive! : objective.slopeNegative!;
        return ((-4 / slope) * A) / (1 + Math.exp(slope * (1 - ratios[t]!)));
      });
    case 'vespo': {
      const weight = vespoWeightOf(objective, row, corrections);
      return each((t, A) => -weight * A * row.policy[t]!);
    }
    case 'dppo_tv':
    case 'dppo_kl':
      return each((t, A) => -dppoWeightOf(policy, objective, row, t) * A * row.policy[t]!);
    case 'gmpo': {
      const kept = row.top ? row.top.kept : row.mask;
      // A token more or less moves the mean of all.
      const isClose = row.top?.close.some((close) => close === 1) ?? false;
      const log = meanOver(row.policy.length, kept, (t) => {
        const gap = gapOf(row, t);
        return advantageOf(row, t) > 0 ? Math.min(gap, clipHigh) : Math.max(gap, -clipLow);
      });
      return each((_, A) => (isClose ? Number.NaN : -A * Math.exp(log)));
    }
  }
}

const LEAST_LOG = Math.log(1e-8);
const MOST_LOG = 20;
const clamp = (x: number, least: number, most: number) => Math.max(least, Math.min(most, x));

/** The weight of a completion in the policy term `vespo`. */
export function vespoWeightOf(
  { vespoPositive, vespoNegative }: DeclaredSection<'objective'>,
  row: PolicyRow,
  corrections: Float64Array | undefined,
): number {
  const [k, lambda] = row.advantage >= 0 ? vespoPositive! : vespoNegative!;
  const own = sumOver(row.policy.length, row.mask, (t) => clamp(gapOf(row, t), -MOST_LOG, MOST_LOG)).sum;
  const samplers = corrections
    ? sumOver(row.policy.length, row.mask, (t) => clamp(Math.log(corrections[t]!), LEAST_LOG, MOST_LOG)).sum
    : 0;
  const log = clamp(own + samplers, LEAST_LOG, MOST_LOG);
  const decay = Math.max(lambda, 1e-4);
  const weight = Math.exp(decay + k * log - decay * Math.exp(log));
  return Number.isFinite(weight) || Number.isNaN(weight) ? weight : 0;
}

/** The capped ratio of a token in its trust region, 0 beyond; NaN where rounding decides. */
export const dppoWeightOf = (
  policy: 'dppo_tv' | 'dppo_kl',
  objective: DeclaredSection<'objective'>,
  row: PolicyRow,
  t: number,
): number =>
  Math.min(Math.exp(gapOf(row, t)), objective.cap!) *
  trustRegionFactor(policy, objective, row.policy[t]!, gapOf(row, t), advantageOf(row, t));
