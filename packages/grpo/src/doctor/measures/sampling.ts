/** What the declared sampling does to log-probs. */
import type { DeclaredSection, StepRecord } from '../../trace/index.js';
import { isFull } from '../tolerance.js';

/** Between two log-probs of one pass, whose logits may have been processed in half precision. */
export const ROUNDING = { full: 1e-4, half: 0.01 };

export const roundingOf = (record: StepRecord): number => (isFull(record) ? ROUNDING.full : ROUNDING.half);

/** Whether tokens are drawn from a part of the distribution only. */
export const truncates = ({ topP = 1, topK = 0, minP = 0 }: DeclaredSection<'rollout'>): boolean =>
  topP < 1 || topK > 0 || minP > 0;
