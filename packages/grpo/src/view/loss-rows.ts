/** The rows of an update's loss as plain numbers, and how the loss changes with the log-prob of each token. */
import { inputs, membersOf, scoredRows, updateRows } from '../doctor/inputs.js';
import { lossSlopes } from '../doctor/recompute/loss-slopes.js';
import { sizesOf } from '../doctor/recompute/micro-batches.js';
import type { LossRow } from '../doctor/recompute/policy-slopes.js';
import { nonzero } from '../maths/moments.js';
import type { StepRecord, UpdateRecord } from '../trace/index.js';

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
  const sampler = inputs.samplerLogprobs.from(record);
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
export function countsOf(record: StepRecord): number[] {
  const masks = inputs.masks.from(record);
  const lengths = record.scored?.lengths ?? record.completions?.lengths ?? [];
  return Array.from(lengths, (length, b) => (masks ? nonzero(masks[b]!) : length));
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
