/** The rows of an update's loss as plain numbers, and how the loss changes with the log-prob of each token. */
import { inputs, membersOf, scoredRows, updateRows } from '../doctor/inputs.js';
import { once } from '../doctor/once.js';
import { klWeighings, weighings } from '../doctor/recompute/aggregation.js';
import { formOf } from '../doctor/recompute/form.js';
import { coveredForm, lossSlopes, rowSlopes } from '../doctor/recompute/loss-slopes.js';
import { sizesOf } from '../doctor/recompute/micro-batches.js';
import type { LossRow } from '../doctor/recompute/policy-slopes.js';
import { nonzero } from '../maths/moments.js';
import type { Declared, StepRecord, UpdateRecord } from '../trace/index.js';

/** The completions of an update as its loss takes them; as text, what the record lacks. */
export function lossRowsOf(record: StepRecord, update: UpdateRecord): LossRow[] | string {
  const { advantages, declared } = record;
  const policy = updateRows(record, update, 'policyLogprobs');
  const entropies = updateRows(record, update, 'entropies');
  if (!policy) return 'updates.policyLogprobs';
  if (!advantages) return 'advantages';
  const old = scoredRows(record, update, 'oldLogprobs');
  if (!old && declared?.objective?.oldLogprobs !== 'detach' && update !== record.updates![0])
    return 'scored.oldLogprobs';
  const masks = scoredRows(record, update, 'mask');
  const sampler = inputs.behaviorLogprobs.from(record);
  const references = scoredRows(record, update, 'referenceLogprobs');
  const beta = betaOf(record, update);
  return membersOf(record, update).map((b, i) => ({
    policy: policy[i]!,
    entropies: entropies?.[i] ?? new Float32Array(policy[i]!.length),
    mask: masks?.[i],
    old: old?.[i],
    reference: references?.[i],
    // Other tokens than were sampled may be scored.
    sampler: sampler?.[b]?.length === policy[i]!.length ? sampler[b] : undefined,
    advantage: advantages[b]!,
    beta,
  }));
}

/** Weight of the KL in the loss of an update: 0 where the KL is taken from the reward. */
export function betaOf({ declared }: Pick<StepRecord, 'declared'>, update: UpdateRecord): number {
  return update.beta ?? (declared?.kl?.place === 'reward' ? 0 : (declared?.kl?.beta ?? 0));
}

/** Trained tokens of each completion. */
export const countsOf = once((record: StepRecord): readonly number[] => {
  const masks = inputs.masks.from(record);
  const lengths = record.scored?.lengths ?? record.completions?.lengths ?? [];
  return Array.from(lengths, (length, b) => (masks ? nonzero(masks[b]!) : length));
});

/**
 * Weight of a trained token of each completion of an update, in the policy's part of the loss and in the KL's; as text,
 * what the record lacks. Of its tokens only the masks are needed.
 */
export function weightsOf(
  record: StepRecord,
  update: UpdateRecord,
): { policy: readonly number[]; kl: readonly number[] } | string {
  const { declared = {} } = record;
  const form = formOf(declared);
  if (typeof form === 'string') return form;
  const all = countsOf(record);
  const own = membersOf(record, update).map((b) => all[b]!);
  const ways = weighings(form, declared, { own, sizes: sizesOf(record, update), all });
  if (typeof ways === 'string') return ways;
  const [policy] = ways;
  const [kl] = klWeighings(declared.kl?.level, own, [policy!]);
  return { policy: policy!, kl: kl! };
}

/** Slopes of the tokens of one completion; undefined where the record does not tell enough. */
export function rowSlopesOf(
  declared: Declared,
  row: LossRow,
  weights: { policy: number; kl: number },
): { policy: Float64Array; kl: Float64Array } | undefined {
  const form = coveredForm(declared, [row]);
  if (typeof form === 'string') return undefined;
  const whole = rowSlopes(form, declared, row, weights).logprobs;
  const policy = rowSlopes(form, declared, { ...row, beta: 0 }, weights).logprobs;
  if (whole.some(Number.isNaN)) return undefined;
  return { policy, kl: whole.map((slope, t) => slope - policy[t]!) };
}

/** d loss / d log π of each token of an update: that of the policy's part, and that of the KL's. */
interface TokenSlopes {
  policy: readonly Float64Array[];
  kl: readonly Float64Array[];
}

/** The slopes of the declared loss of an update; undefined where the record does not tell enough. */
export function slopesOf(record: StepRecord, update: UpdateRecord): TokenSlopes | undefined {
  const { declared = {} } = record;
  const rows = lossRowsOf(record, update);
  if (typeof rows === 'string') return undefined;
  // Of most losses the split into micro-batches is no part.
  const isSplit =
    declared.objective?.aggregation === 'micro_token_mean' || (declared.entropy?.topShare ?? 1) < 1;
  const sizes = sizesOf(record, update) ?? (isSplit ? undefined : [rows.length]);
  if (!sizes) return undefined;
  const parts = { sizes, trained: countsOf(record), entropyCoefficient: 0 };
  const whole = lossSlopes(declared, rows, parts);
  const policy = lossSlopes(
    declared,
    rows.map((row) => ({ ...row, beta: 0 })),
    parts,
  );
  if (typeof whole === 'string' || typeof policy === 'string') return undefined;
  return {
    policy: policy.map(({ logprobs }) => logprobs),
    kl: whole.map(({ logprobs }, i) => logprobs.map((slope, t) => slope - policy[i]!.logprobs[t]!)),
  };
}
