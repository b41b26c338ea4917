/** A number of every trained token of a step, row by row. */

import { inputs, membersOf, scoredRows, updateRows } from '../../doctor/inputs.js';
import { UserError } from '../../errors/user-error.js';
import type { StepRecord, UpdateRecord } from '../../trace/index.js';
import type { OpenRuns } from '../open-runs.js';
import type { Measure } from '../requests.js';
import { gapsOf } from './gaps.js';
import { sharesOf, wholeShares } from './loss-shares.js';
import { headOf, partOf, recordOf, type StepPlace } from './step-records.js';
import { inParts, trainedRows } from './trained-rows.js';
import { withTerms } from './with-terms.js';

/** The tokens of a completion, in an update where the number belongs to one. */
export interface MeasuredRow {
  update: number | undefined;
  completion: number;
  values: ArrayLike<number>;
  /** 0 where a token is not trained on. */
  mask: Uint8Array | undefined;
}

/** Arrays that a measure is made of; the slopes are computed part by part. */
const ARRAYS: Readonly<Record<Measure, readonly string[]>> = {
  gap: ['policyLogprobs', 'oldLogprobs', 'samplerLogprobs', 'sampledLogprobs'],
  ratio: ['ratios'],
  entropy: ['entropies'],
  logprob: ['policyLogprobs'],
  kl: ['klTerms'],
  loss: ['policyTerms', 'klTerms', 'weights', 'klWeights', 'entropies'],
  slope: [],
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
  const recorded = at.measure === 'slope' ? await slopeRows(runs, at) : rowsIn(part, at.measure);
  if (recorded.length > 0) return { record: part, rows: recorded };
  const { record, lack } = withTerms(await recordOf(runs, at));
  const rows = at.measure === 'slope' ? [] : rowsIn(record, at.measure);
  if (rows.length > 0) return { record, rows };
  throw new UserError(
    `the record of step ${at.step} does not tell the ${at.measure} of its tokens${lack === undefined ? '' : `: it lacks ${lack}`}`,
  );
}

function rowsIn(record: StepRecord, measure: Exclude<Measure, 'slope'>): MeasuredRow[] {
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

/** By how much the loss of each update changes with the log-prob of each token. */
async function slopeRows(runs: OpenRuns, at: StepPlace): Promise<MeasuredRow[]> {
  const { record: head } = await headOf(runs, at);
  const all: MeasuredRow[] = [];
  for (const u of head.updates?.keys() ?? [])
    for await (const own of inParts(runs, at, u)) {
      const { record, update, members, slopes } = trainedRows(own, u)!;
      const masks = scoredRows(record, update, 'mask');
      for (const [row, completion] of members.entries()) {
        const { policy, kl } = slopes(row) ?? {};
        if (!policy || !kl) continue;
        const values = policy.map((slope, t) => slope + kl[t]!);
        all.push({ update: u, completion, values, mask: masks?.[row] });
      }
    }
  return all;
}

type RowOf = (row: number) => ArrayLike<number> | undefined;

function valuesIn(
  record: StepRecord,
  update: UpdateRecord,
  measure: Exclude<Measure, 'gap' | 'slope'>,
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
  }
}
