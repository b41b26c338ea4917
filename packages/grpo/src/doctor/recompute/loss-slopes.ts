/**
 * The slopes of the declared loss: how much it changes with the log-prob and with the entropy of each token. What the
 * loss takes as given (old log-probs, corrections, masks) has none.
 */

import { sum } from '../../maths/moments.js';
import type { Declared } from '../../trace/index.js';
import { klWeighings, weighings } from './aggregation.js';
import { type Form, formOf } from './form.js';
import { addKlSlopes } from './kl-slopes.js';
import { correctionsOf, corrects, type Kept, offPolicyFactor, topEntropyOf } from './masks.js';
import { type LossRow, policySlopes, type Slopes } from './policy-slopes.js';
import { missingOf } from './policy-term.js';
import { ratiosOf } from './ratio.js';
import { isTrained, sumOver } from './row.js';

/** What an update is a part of, and how it is divided. */
export interface UpdateParts {
  /** Completions of each micro-batch, in order. */
  sizes: readonly number[];
  /** Trained tokens of each completion of the rollout. */
  trained: readonly number[];
  /** Weight of the entropy bonus. */
  entropyCoefficient: number;
}

/** Slopes of an update of these completions; as text, why there are none. */
export function lossSlopes(
  declared: Declared,
  rows: readonly LossRow[],
  { sizes, trained, entropyCoefficient }: UpdateParts,
): Slopes[] | string {
  const form = coveredForm(declared, rows);
  if (typeof form === 'string') return form;
  const own = rows.map(({ policy, mask }) => sumOver(policy.length, mask, () => 0).count);
  const weights = weighings(form, declared, { own, sizes, all: trained });
  if (typeof weights === 'string') return weights;
  const parts = partsOf(sizes);
  const tops = topsOf(declared, rows, parts);
  const klWeights = klWeighings(declared.kl?.level, own, weights)[0]!;
  const slopes = rows.map((row, i) =>
    rowSlopes(form, declared, { ...row, top: tops?.[i] }, { policy: weights[0]![i]!, kl: klWeights[i]! }),
  );
  if (entropyCoefficient !== 0) {
    const isWhole = declared.objective?.compat !== undefined;
    for (const part of parts) {
      const of = (count: (i: number) => number) => sum(part.map(count)) / sum([...own.keys()].map(count));
      const share = isWhole ? part.length / own.length : of((i) => own[i]!);
      addBonus(part, slopes, rows, tops, entropyCoefficient * share);
    }
  }
  const isClose = slopes.some(({ logprobs }) => logprobs.some(Number.isNaN));
  return isClose ? 'a mask of the loss that rounding does not decide' : slopes;
}

/** The form of the declared loss; as text, why these rows have no slopes. */
export function coveredForm(declared: Declared, rows: readonly LossRow[]): Form | string {
  const form = formOf(declared);
  if (typeof form === 'string') return form;
  return missingOf(form, declared) ?? uncovered(declared, rows) ?? form;
}

/** What has no plain form here. */
function uncovered({ kl = {} }: Declared, rows: readonly LossRow[]): string | undefined {
  const hasKl = rows.some(({ beta }) => beta !== 0);
  if (hasKl && kl.estimator === 'full') return 'a plain form of the KL over the whole vocabulary';
  return hasKl && rows.some(({ reference }) => !reference) ? 'log-probs of the reference' : undefined;
}

/** The rows of each micro-batch. */
function partsOf(sizes: readonly number[]): number[][] {
  let end = 0;
  return sizes.map((size) => {
    end += size;
    return Array.from({ length: size }, (_, i) => end - size + i);
  });
}

/** The tokens of highest entropy of each micro-batch, row by row. */
function topsOf(
  { entropy }: Declared,
  rows: readonly LossRow[],
  parts: readonly (readonly number[])[],
): Kept[] | undefined {
  const { topShare = 1 } = entropy ?? {};
  if (topShare >= 1) return undefined;
  return parts.flatMap((part) =>
    topEntropyOf(
      topShare,
      part.map((i) => rows[i]!.entropies),
      part.map((i) => rows[i]!.mask),
    ),
  );
}

/**
 * Slopes of one completion; NaN where rounding decides whether a token is masked.
 *
 * @param weights - of its tokens, in the policy's part of the loss and in the KL's
 */
export function rowSlopes(
  form: Form,
  declared: Declared,
  row: LossRow,
  weights: { policy: number; kl: number },
): Slopes {
  const slopes = policySlopesOf(form, declared, row, weights.policy);
  if (row.beta !== 0) addKlSlopes(slopes, form.ratio, declared.kl ?? {}, row, row.beta * weights.kl);
  return slopes;
}

function policySlopesOf(form: Form, declared: Declared, row: LossRow, weight: number): Slopes {
  const { objective = {}, correction = {} } = declared;
  const { policy, sampler, top, advantage, mask } = row;
  const ratios = ratiosOf(form.ratio, row);
  const corrections = corrects(declared) && sampler ? correctionsOf(correction, row, sampler) : undefined;
  const near =
    objective.offPolicyThreshold === undefined
      ? 1
      : offPolicyFactor(objective.offPolicyThreshold, row, sampler, advantage);
  const factors = Float64Array.from(policy, (_, t) => {
    if (!isTrained(mask, t)) return 0;
    // The mean of gmpo is over the tokens that are kept, the weight of vespo has the correction in it.
    const kept = form.policy === 'gmpo' || !top ? 1 : top.close[t] ? Number.NaN : top.kept[t]!;
    const corrected = form.policy === 'vespo' ? 1 : (corrections?.[t] ?? 1);
    return weight * near * kept * corrected;
  });
  return {
    logprobs: policySlopes(form, objective, { ...row, ratios }, factors, corrections),
    entropies: new Float64Array(policy.length),
  };
}

/** −coefficient × mean entropy of the tokens of a micro-batch that the policy term is kept for. */
function addBonus(
  part: readonly number[],
  slopes: readonly Slopes[],
  rows: readonly LossRow[],
  tops: readonly Kept[] | undefined,
  coefficient: number,
): void {
  const places = part.flatMap((i) =>
    Array.from(rows[i]!.policy.keys(), (t) => ({ i, t })).filter(
      ({ t }) => isTrained(rows[i]!.mask, t) && (tops === undefined || tops[i]!.kept[t] === 1),
    ),
  );
  for (const { i, t } of places) slopes[i]!.entropies[t] = -coefficient / places.length;
}
