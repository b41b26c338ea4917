/** What the loss is declared to be composed of. */
import { type LossParts, namedLosses } from '../../config/loss-names.js';
import type { Declared } from '../../trace/index.js';

export type Form = Pick<LossParts, 'policy' | 'ratio' | 'aggregation'>;

/** Losses that are the same under one name whoever computes them. */
const SHARED = /^(grpo|dapo|bnpo|dr_grpo|cispo|sapo|vespo)$/;

/** The choices that are declared, or that the name of the loss stands for; as text, why they are not known. */
export function formOf({ objective = {}, ownStages }: Declared): Form | string {
  if (ownStages?.includes('objective')) return 'the standard stage objective: yours does as it likes';
  const { loss = '' } = objective;
  const named = SHARED.test(loss) ? namedLosses[loss as keyof typeof namedLosses] : undefined;
  const { policy = named?.policy, ratio = named?.ratio, aggregation = named?.aggregation } = objective;
  return policy && ratio && aggregation
    ? { policy, ratio, aggregation }
    : 'declared.objective: policy, ratio and aggregation, or a loss that is named for them';
}
