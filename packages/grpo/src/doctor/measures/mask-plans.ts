/** The passes from which the log-probs of a masked-diffusion model were estimated. */
import { type RecordedView, rowsOf, type StepRecord, type UpdateRecord, viewsOf } from '../../trace/index.js';
import { once } from '../once.js';

/** The passes over each completion, by iteration; undefined where the record does not tell them. */
export const plansOf = once(
  ({ prompts, completions, diffusion }: StepRecord): RecordedView[][][] | undefined => {
    const [promptOf, lengths] = [completions?.prompt, prompts?.scoredLengths ?? prompts?.lengths];
    const { plans, widths } = diffusion ?? {};
    if (!plans || !widths || !promptOf || !lengths) return undefined;
    const promptLengths = Array.from(promptOf, (p) => lengths[p]!);
    return plans.map((plan) => viewsOf(plan, promptLengths, widths));
  },
);

/** The passes over each completion for an update. */
export const plansOfUpdate = (record: StepRecord, { iteration = 0 }: UpdateRecord) =>
  plansOf(record)?.[iteration];

/** Whether some pass hides a place of the region: only such a token has a log-prob. */
export const isEstimated = (views: readonly RecordedView[], place: number): boolean =>
  views.some(({ region }) => region[place] === 1);

/**
 * Whether a token of a completion has a log-prob in the first pass over the rollout: every one of a causal model has.
 * undefined where that is not known.
 */
export function estimatedTokens(
  record: StepRecord,
): ((completion: number, token: number) => boolean) | undefined {
  if (!record.diffusion) return () => true;
  const plans = plansOf(record)?.[0];
  return plans && ((b, token) => isEstimated(plans[b]!, token));
}

/**
 * Whether the trainer scores a token under the distribution that it was sampled from. A causal model does; a
 * masked-diffusion model where it filled all places in one step, and is scored by one pass that hides just these.
 */
export const isScoredAsSampled = once((record: StepRecord): boolean => {
  const { diffusion } = record;
  if (!diffusion) return true;
  const views = plansOf(record)?.[0];
  const { order, widths } = diffusion;
  if (!views || !order || !widths) return false;
  const orders = rowsOf(order, widths);
  return views.every(
    (own, b) =>
      own.length === 0 ||
      (own.length === 1 &&
        own[0]!.weight === 1 &&
        own[0]!.region.every((hidden) => hidden === 1) &&
        own[0]!.prompt.every((hidden) => hidden === 0) &&
        orders[b]!.every((step) => step === 0)),
  );
});
