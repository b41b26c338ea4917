/** What the loss is declared to be composed of. */
import { type LossParts, namedLosses } from '../../config/loss-names.js';
import type { Declared } from '../../trace/index.js';

export type Form = Pick<LossParts, 'policy' | 'ratio' | 'aggregation'>;

/** Losses that are the same under one name whoever computes them. */
const SHARED = /^(grpo|dapo|bnpo|dr_grpo|cispo|sapo|vespo)$/;

const POLICIES: readonly string[] = [
  'clip',
  'reinforce',
  'cispo',
  'sapo',
  'vespo',
  'gmpo',
] satisfies Form['policy'][];
const RATIOS: readonly string[] = ['none', 'token', 'sequence', 'sequence_token'] satisfies Form['ratio'][];
const AGGREGATIONS: readonly string[] = [
  'sequence_mean',
  'token_mean',
  'micro_token_mean',
  'constant',
  'sum',
] satisfies Form['aggregation'][];

/** The choices that are declared, or that the name of the loss stands for; as text, why they are not known. */
export function formOf(declared: Declared): Form | string {
  if (declared.ownStages?.includes('objective'))
    return 'the standard stage objective: yours does as it likes';
  const { loss = '' } = declared;
  const named = SHARED.test(loss) ? namedLosses[loss as keyof typeof namedLosses] : undefined;
  const form = {
    policy: declared.policy ?? named?.policy,
    ratio: declared.ratioLevel ?? named?.ratio,
    aggregation: declared.aggregation ?? named?.aggregation,
  };
  return isForm(form)
    ? form
    : 'declared.policy, ratioLevel and aggregation, or a loss that is named for them';
}

const isForm = (form: { [K in keyof Form]: string | undefined }): form is Form =>
  POLICIES.includes(form.policy ?? '') &&
  RATIOS.includes(form.ratio ?? '') &&
  AGGREGATIONS.includes(form.aggregation ?? '');
