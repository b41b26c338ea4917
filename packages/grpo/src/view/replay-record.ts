/** A recorded step with other settings: what follows from its rewards and log-probs, computed anew without a model. */

import { groupsOf } from '../doctor/groups.js';
import { inputs, updateRows } from '../doctor/inputs.js';
import { columnsOf } from '../doctor/measures/advantages.js';
import { PLAIN, recompute } from '../doctor/recompute/advantage.js';
import { type Form, formOf } from '../doctor/recompute/form.js';
import { klTermsOf } from '../doctor/recompute/kl.js';
import { entropyMeanOf, topsOf } from '../doctor/recompute/micro-batches.js';
import type { LossRow } from '../doctor/recompute/policy-slopes.js';
import { missingOf, policyTermsOf } from '../doctor/recompute/policy-term.js';
import { ratiosOf } from '../doctor/recompute/ratio.js';
import { UserError } from '../errors/user-error.js';
import { joinRows } from '../maths/lists.js';
import { sum } from '../maths/moments.js';
import { declaredByBoth } from '../trace/declared.js';
import type { StepRecord, UpdateRecord } from '../trace/index.js';
import { betaOf, lossRowsOf, weightsOf } from './loss-rows.js';
import type { ReplaySettings } from './replay-settings.js';

/** The numbers of a step cannot be replayed from its record alone. */
export class NotInRecordError extends UserError {
  /**
   * @param lack - of the record
   * @param why - the weights of the step do not give it either
   */
  constructor(
    readonly lack: string,
    why?: string,
  ) {
    super(`the record alone does not give this replay: it lacks ${lack}`, {
      hint: `The weights that took the step would give it${why === undefined ? '' : `, but ${why}`}.`,
    });
  }
}

/**
 * The step with other settings: its advantages, masks, and the terms, weights and loss of each update. The log-probs are
 * those that were recorded; what only the model gives (gradients, updates, probes) is left out.
 *
 * @throws NotInRecordError for settings that change more than follows from the record
 */
export function replayRecord(record: StepRecord, settings: ReplaySettings = {}): StepRecord {
  const { probes: _, audit: __, ...kept } = record;
  const declared = declaredByBoth(record.declared, settings);
  const masked = { ...kept, declared, ...masksOf(record, settings) };
  const advantages = advantagesOf(masked, settings);
  const compared = { ...masked, ...(advantages && { advantages }) };
  return {
    ...compared,
    ...(record.updates && {
      updates: record.updates.map((update) => replayUpdate(compared, update, settings)),
    }),
  };
}

/** The masks, where `objective.maskTruncated` is set anew: all tokens of a cut completion, or none. */
function masksOf(record: StepRecord, { objective }: ReplaySettings): Pick<StepRecord, 'scored'> {
  const { scored, completions } = record;
  if (objective?.maskTruncated === undefined || !scored) return {};
  // A token has no log-prob if no pass hides it, whatever is left out.
  if (record.diffusion)
    throw new NotInRecordError('the masks of each iteration with other completions left out');
  const lengths = scored.lengths ?? completions?.lengths;
  const finish = completions?.finish;
  if (!finish || !lengths) throw new NotInRecordError('completions.finish and scored.lengths');
  const isMasked = objective.maskTruncated;
  const own = inputs.masks.from(record);
  const masks = Array.from(lengths, (length, b) => {
    if (finish[b] !== 'length') return own?.[b] ?? new Uint8Array(length).fill(1);
    return new Uint8Array(length).fill(isMasked ? 0 : 1);
  });
  return { scored: { ...scored, lengths, mask: joinRows(Uint8Array, masks) } };
}

/** The advantages, where a setting of theirs is set anew. */
function advantagesOf(record: StepRecord, { advantage, kl }: ReplaySettings): Float64Array | undefined {
  const isInReward = record.declared?.kl?.place === 'reward';
  if (kl?.place !== undefined || (isInReward && kl && Object.keys(kl).length > 0))
    throw new NotInRecordError('rewards with another KL taken from them');
  if (!advantage || Object.keys(advantage).length === 0) return undefined;
  if (advantage.flat !== undefined) throw new NotInRecordError('log-probs of groups that were dropped');
  const { rewards, completions, declared } = record;
  if (!rewards?.totals || !completions?.prompt) throw new NotInRecordError('rewards.totals');
  const { clip = Number.POSITIVE_INFINITY, ...declaredWay } = declared?.advantage ?? {};
  const way = { ...PLAIN, ...declaredWay };
  return recompute(columnsOf(rewards), groupsOf(completions.prompt), way).map((value) =>
    Math.max(-clip, Math.min(clip, value)),
  );
}

function replayUpdate(record: StepRecord, update: UpdateRecord, settings: ReplaySettings): UpdateRecord {
  const { declared = {} } = record;
  const form = formOf(declared);
  const rows = lossRowsOf(record, update);
  if (typeof form === 'string') throw new NotInRecordError(form);
  if (typeof rows === 'string') throw new NotInRecordError(rows);
  const missing = missingOf(form, declared);
  if (missing !== undefined) throw new NotInRecordError(missing);
  const beta = settings.kl?.beta ?? betaOf(record, update);
  const weights = weightsOf(record, update);
  if (typeof weights === 'string') throw new NotInRecordError(weights);
  const ratios = rows.map((row) => ratiosOf(form.ratio, row));
  const policyTerms = policyTermsIn(form, record, update, rows, ratios);
  const klTerms = klTermsIn(record, update, settings, rows, ratios, beta);
  const perToken = (values: readonly number[]) =>
    rows.map(({ policy, mask }, i) => {
      const row = new Float64Array(policy.length).fill(values[i]!);
      return mask ? row.map((value, t) => (mask[t] === 0 ? 0 : value)) : row;
    });
  const [policyWeights, klWeights] = [perToken(weights.policy), perToken(weights.kl)];
  const coefficient =
    settings.entropy?.coefficient ?? update.entropyCoefficient ?? declared.entropy?.coefficient ?? 0;
  const entropy = coefficient === 0 ? 0 : entropyMeanOf(declared, record, update);
  if (typeof entropy === 'string') throw new NotInRecordError(entropy);
  const components = [
    { name: 'policy', coefficient: 1, value: weighed(policyTerms, policyWeights) },
    ...(klTerms && beta !== 0 ? [{ name: 'kl', coefficient: beta, value: weighed(klTerms, klWeights) }] : []),
    ...(coefficient === 0 ? [] : [{ name: 'entropy', coefficient: -coefficient, value: entropy }]),
  ];
  const { completions, policyLogprobs, entropies, microBatches, learningRate } = update;
  return {
    ...(completions && { completions }),
    ...(policyLogprobs && { policyLogprobs }),
    ...(entropies && { entropies }),
    ...(microBatches && { microBatches }),
    ...(learningRate !== undefined && { learningRate }),
    ratios: joinRows(Float32Array, ratios),
    policyTerms: joinRows(Float32Array, policyTerms),
    ...(klTerms && { klTerms: joinRows(Float32Array, klTerms) }),
    weights: joinRows(Float32Array, policyWeights),
    ...(klTerms && weights.kl !== weights.policy && { klWeights: joinRows(Float32Array, klWeights) }),
    beta,
    entropyCoefficient: coefficient,
    loss: sum(components.map((one) => one.coefficient * one.value)),
    components,
  };
}

function policyTermsIn(
  form: Form,
  record: StepRecord,
  update: UpdateRecord,
  rows: readonly LossRow[],
  ratios: readonly Float64Array[],
): Float64Array[] {
  const { declared = {} } = record;
  const tops = topsOf(declared, record, update);
  if (typeof tops === 'string') throw new NotInRecordError(tops);
  return rows.map((row, i) => {
    const terms = policyTermsOf(form, declared, { ...row, ratios: ratios[i]!, top: tops?.[i] });
    const undecided = terms.findIndex((term, t) => Number.isNaN(term) && row.mask?.[t] !== 0);
    if (undecided >= 0) throw new NotInRecordError('a mask of the loss that rounding does not decide');
    return terms.map((term, t) => (row.mask?.[t] === 0 ? 0 : term));
  });
}

/** The KL of each token; undefined without a reference. */
function klTermsIn(
  record: StepRecord,
  update: UpdateRecord,
  { kl: changed = {} }: ReplaySettings,
  rows: readonly LossRow[],
  ratios: readonly Float64Array[],
  beta: number,
): Float64Array[] | undefined {
  const { kl = {} } = record.declared ?? {};
  const estimator = kl.estimator ?? 'k3';
  if (kl.kindKey !== undefined && Object.keys(changed).length > 0)
    throw new NotInRecordError('the β of each kind of problem');
  const { beta: _, ...form } = changed;
  if (estimator === 'full') {
    const recorded = updateRows(record, update, 'klTerms');
    if (recorded && Object.keys(form).length === 0) return recorded.map((row) => Float64Array.from(row));
    if (beta === 0 && !recorded) return undefined;
    throw new NotInRecordError('the KL over the whole vocabulary');
  }
  if (rows.some(({ reference }) => !reference)) {
    if (beta !== 0) throw new NotInRecordError('scored.referenceLogprobs');
    return undefined;
  }
  return rows.map((row, i) => {
    const terms = klTermsOf(estimator, kl, { ...row, reference: row.reference!, ratios: ratios[i]! });
    return terms.map((term, t) => (row.mask?.[t] === 0 ? 0 : term));
  });
}

const weighed = (terms: readonly Float64Array[], weights: readonly Float64Array[]) =>
  sum(terms.map((row, i) => sum(row.map((term, t) => term * weights[i]![t]!))));
