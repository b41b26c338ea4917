/** A number of every trained token of a step, row by row. */

import { inputs, membersOf, scoredRows, updateRows } from '../../doctor/inputs.js';
import { UserError } from '../../errors/user-error.js';
import type { StepRecord, UpdateRecord } from '../../trace/index.js';
import { slopesOf } from '../../view/loss-rows.js';
import type { OpenRuns } from '../open-runs.js';
import type { Measure } from '../requests.js';
import { gapsOf } from './gaps.js';
import { sharesOf, wholeShares } from './loss-shares.js';
import { partOf, recordOf, type StepPlace } from './step-records.js';
import { withTerms } from './with-terms.js';

/** The tokens of a completion, in an update where the number belongs to one. */
export interface MeasuredRow {
  update: number | undefined;
  completion: number;
  values: ArrayLike<number>;
  /** 0 where a token is not trained on. */
  mask: Uint8Array | undefined;
}

const LOGPROBS = ['policyLogprobs', 'oldLogprobs', 'samplerLogprobs'];

/** Arrays that a measure is made of. */
const ARRAYS: Readonly<Record<Measure, readonly string[]>> = {
  gap: LOGPROBS,
  ratio: ['ratios'],
  entropy: ['entropies'],
  logprob: ['policyLogprobs'],
  kl: ['klTerms'],
  loss: ['policyTerms', 'klTerms', 'weights', 'klWeights', 'entropies'],
  slope: [...LOGPROBS, 'referenceLogprobs', 'entropies'],
};

/** How far a value is from where it should be: a ratio from 1, all else from 0. */
export const sizeOf = (measure: Measure, value: number): number =>
  Math.abs(measure === 'ratio' ? Math.log(value) : value);

/**
 * The rows of a measure, over all updates of a step, with the record of their ids.
 *
 * @param arrays - others that the record is to have
 * @throws UserError where the record does not tell it
 */
export async function measuredRows(
  runs: OpenRuns,
  at: StepPlace & { measure: Measure },
  arrays: readonly string[] = [],
): Promise<{ record: StepRecord; rows: MeasuredRow[] }> {
  const part = await partOf(runs, at, [...ARRAYS[at.measure], ...arrays]);
  const recorded = rowsIn(part, at.measure);
  if (recorded.length > 0) return { record: part, rows: recorded };
  const { record, lack } = withTerms(await recordOf(runs, at));
  const rows = rowsIn(record, at.measure);
  if (rows.length > 0) return { record, rows };
  throw new UserError(
    `the record of step ${at.step} does not tell the ${at.measure} of its tokens${lack === undefined ? '' : `: it lacks ${lack}`}`,
  );
}

function rowsIn(record: StepRecord, measure: Measure): MeasuredRow[] {
  if (measure === 'gap') {
    const masks = inputs.masks.from(record);
    return gapsOf(record).flatMap((values, completion) =>
      values ? [{ update: undefined, completion, values, mask: masks?.[completion] }] : [],
    );
  }
  return (record.updates ?? []).flatMap((update, u) => {
    const values = valuesIn(record, update, measure);
    const masks = scoredRows(record, update, 'mask');
    return membersOf(record, update).flatMap((completion, i) => {
      const own = values?.(i);
      return own ? [{ update: u, completion, values: own, mask: masks?.[i] }] : [];
    });
  });
}

type RowOf = (row: number) => ArrayLike<number> | undefined;

function valuesIn(
  record: StepRecord,
  update: UpdateRecord,
  measure: Exclude<Measure, 'gap'>,
): RowOf | undefined {
  const rows = (key: Parameters<typeof updateRows>[2]): RowOf | undefined => {
    const all = updateRows(record, update, key);
    return all && ((i) => all[i]);
  };
  switch (measure) {
    case 'ratio':
      return rows('ratios');
    case 'entropy':
      return rows('entropies');
    case 'logprob':
      return rows('policyLogprobs');
    case 'kl':
      return rows('klTerms');
    case 'loss': {
      const shares = sharesOf(record, update);
      return (i) => wholeShares(shares(i));
    }
    case 'slope': {
      const slopes = slopesOf(record, update);
      return slopes && ((i) => slopes.policy[i]!.map((slope, t) => slope + slopes.kl[i]![t]!));
    }
  }
}
